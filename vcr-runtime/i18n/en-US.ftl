# Messages of the harness in English. Every language has the same keys with the same arguments.

harness-error-invalid-config = invalid configuration: { $message }
harness-error-cassette-not-found = cassette not found: { $cassette_name }
harness-error-invalid-cassette = invalid cassette: { $message }
harness-error-unsupported-cassette-format-version = unsupported cassette format version { $found }; supported version is { $supported }
harness-error-mode-not-yet-implemented = mode not yet implemented: { $mode }
harness-error-request-mismatch = request mismatch at interaction { $interaction_id }: expected { $expected_hash }, observed { $observed_hash }
harness-error-upstream-request-failed = upstream request failed: { $source }
harness-error-io = io failure: { $source }
