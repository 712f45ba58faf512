# What the command says, in English. Every language has the same messages with the same arguments.
# $text is the library's own sentence: what is wrong, where, and what to do about it.

failed = cargo vcr { $command }: { $error }

error-config = { $text }
error-identity = { $text }
error-collision = { $text }
error-cassette-missing = { $text }
error-cassette-broken = { $text }
error-cassette-version = { $text }
error-take-missing = { $text }
error-miss = { $text }
error-no-session = { $text }
error-ended = { $text }
error-proxy = { $text }
error-paused-clock = { $text }
error-gateway = { $text }
error-secret = { $text }
error-busy = { $text }
error-verdict = { $text }
error-io = { $text }
error-other = { $text }

locale-invalid = { $name } is { $value }, which is no locale such as de-DE
signals-failed = failed to listen for signals: { $cause }
metrics-failed = failed to install the metrics recorder: { $cause }

left-at-once = cargo vcr serve: left at once; unsaved calls are in the journals beside the cassettes
ended = { $cassette }: { $report }
report-none = no calls
report-replayed = { $calls ->
    [one] 1 call replayed
   *[other] { $calls } calls replayed
}
report-recorded = { $calls ->
    [one] 1 call recorded
   *[other] { $calls } calls recorded
}
report-unused = { $calls } unused
report-written = wrote { $file }
report-set-aside = set aside { $file }

recover-none = no recording was interrupted in { $path }
recovered = { $calls ->
    [one] 1 finished call of { $cassette } is in { $file }; rename it to replay from it
   *[other] { $calls } finished calls of { $cassette } are in { $file }; rename it to replay from it
}

verify-sound = { $path }: nothing is wrong
verify-difference = { $path }: { $kind }: { $at }: expected { $expected }, found { $found }

frozen = format { $version }, { $hash }, entries { $entries } (at most { $max_entries }), responses { $responses } (of at most { $max_bytes } bytes)
thawed-same = { $cassette } says the same already
thawed = { $changed ->
    [one] { $cassette } has a new take with 1 changed answer
   *[other] { $cassette } has a new take with { $changed } changed answers
}

exported = { $calls ->
    [one] 1 call is in { $files }; it is replayed by { $attribute }
   *[other] { $calls } calls are in { $files }; they are replayed by { $attribute }
}
left-out = left out: { $what }
