# Was der Befehl sagt, auf Deutsch.
# $text ist der Satz der Bibliothek, die Englisch spricht: was falsch ist, wo, und was zu tun ist.

failed = cargo vcr { $command }: { $error }

error-config = Eine Einstellung ist ungültig; den genannten Wert berichtigen. Im Wortlaut: { $text }
error-identity = Dieser Name oder dieses Verzeichnis ist nicht brauchbar; einen anderen Namen wählen. Im Wortlaut: { $text }
error-collision = Zwei Tests teilten sich eine Kassette; einem von ihnen einen eigenen Namen geben. Im Wortlaut: { $text }
error-cassette-missing = Die Kassette gibt es nicht; den Pfad prüfen oder sie aufnehmen. Im Wortlaut: { $text }
error-cassette-broken = Die Datei ist keine lesbare Kassette; die genannte Stelle berichtigen oder neu aufnehmen. Im Wortlaut: { $text }
error-cassette-version = Die Kassette hat eine andere Version des Formats; mit dieser Version neu aufnehmen. Im Wortlaut: { $text }
error-take-missing = Die festgelegte Aufnahme steht nicht in der Kassette; eine der vorhandenen nennen. Im Wortlaut: { $text }
error-miss = Keine Aufnahme beantwortet diesen Aufruf; neu aufnehmen, wenn die Änderung gewollt ist. Im Wortlaut: { $text }
error-no-session = Der Aufruf liegt außerhalb jeder Sitzung. Im Wortlaut: { $text }
error-ended = Die Sitzung ist schon zu Ende. Im Wortlaut: { $text }
error-proxy = Eine Proxy-Variable finge den lokalen Server ab; ihn davon ausnehmen. Im Wortlaut: { $text }
error-paused-clock = Eine angehaltene Uhr und der lokale Server schließen einander aus. Im Wortlaut: { $text }
error-gateway = Der lokale Server konnte nicht starten; eine andere Adresse wählen. Im Wortlaut: { $text }
error-secret = In dem, was geschrieben würde, steht noch ein Geheimnis; eine Regel dafür eintragen. Im Wortlaut: { $text }
error-busy = Jemand anderes nimmt diese Kassette gerade auf; dessen Ende abwarten. Im Wortlaut: { $text }
error-verdict = Aufgenommene Aufrufe blieben unbenutzt, oder Aufrufe gingen ins Leere. Im Wortlaut: { $text }
error-io = Das Dateisystem hat abgelehnt; Pfad und Rechte prüfen. Im Wortlaut: { $text }
error-other = Es ist ein Fehler aufgetreten. Im Wortlaut: { $text }

locale-invalid = { $name } ist { $value }, und das ist keine Sprachkennung wie de-DE
signals-failed = Signale können nicht empfangen werden: { $cause }
metrics-failed = die Messwerte können nicht gesammelt werden: { $cause }

left-at-once = cargo vcr serve: sofort beendet; ungesicherte Aufrufe stehen in den Journalen neben den Kassetten
ended = { $cassette }: { $report }
report-none = keine Aufrufe
report-replayed = { $calls ->
    [one] 1 Aufruf wiedergegeben
   *[other] { $calls } Aufrufe wiedergegeben
}
report-recorded = { $calls ->
    [one] 1 Aufruf aufgenommen
   *[other] { $calls } Aufrufe aufgenommen
}
report-unused = { $calls } unbenutzt
report-written = geschrieben: { $file }
report-set-aside = beiseitegelegt: { $file }

recover-none = in { $path } wurde keine Aufnahme unterbrochen
recovered = { $calls ->
    [one] 1 fertiger Aufruf von { $cassette } steht in { $file }; zum Wiedergeben umbenennen
   *[other] { $calls } fertige Aufrufe von { $cassette } stehen in { $file }; zum Wiedergeben umbenennen
}

verify-sound = { $path }: alles in Ordnung
verify-difference = { $path }: { $kind }: { $at }: erwartet { $expected }, gefunden { $found }

frozen = Format { $version }, { $hash }, Einträge { $entries } (höchstens { $max_entries }), Antworten { $responses } (zu höchstens { $max_bytes } Bytes)
thawed-same = { $cassette } sagt schon dasselbe
thawed = { $changed ->
    [one] { $cassette } hat eine neue Aufnahme mit 1 geänderten Antwort
   *[other] { $cassette } hat eine neue Aufnahme mit { $changed } geänderten Antworten
}

exported = { $calls ->
    [one] 1 Aufruf steht in { $files }; { $attribute } gibt ihn wieder
   *[other] { $calls } Aufrufe stehen in { $files }; { $attribute } gibt sie wieder
}
left-out = nicht enthalten: { $what }
