# Meldungen der Umgebung auf Deutsch.

harness-error-invalid-config = ungültige Konfiguration: { $message }
harness-error-cassette-not-found = Kassette nicht gefunden: { $cassette_name }
harness-error-invalid-cassette = ungültige Kassette: { $message }
harness-error-unsupported-cassette-format-version = Kassettenformat Version { $found } wird nicht unterstützt; unterstützt wird Version { $supported }
harness-error-mode-not-yet-implemented = Betriebsart noch nicht umgesetzt: { $mode }
harness-error-request-mismatch = Anfrage weicht bei Interaktion { $interaction_id } ab: erwartet { $expected_hash }, erhalten { $observed_hash }
harness-error-upstream-request-failed = Anfrage an den Anbieter fehlgeschlagen: { $source }
harness-error-io = Ein-/Ausgabefehler: { $source }
