# Die Hilfe auf Deutsch. Auf Englisch steht sie an den Argumenten selbst, in src/args.rs.

heading-usage = Aufruf:
heading-commands = Befehle
heading-arguments = Argumente
heading-options = Optionen
help-help = Diese Hilfe ausgeben
help-version = Die Version ausgeben

usage-error = Fehler: { $what }
usage-cause = Grund: { $cause }
usage-possible = Möglich sind: { $values }
usage-hint = Mehr dazu mit { $option }.
usage-unknown-argument = unbekanntes Argument „{ $argument }“
usage-invalid-value = ungültiger Wert „{ $value }“ für „{ $argument }“
usage-missing-argument = es fehlt { $argument }
usage-unknown-command = unbekannter Befehl „{ $argument }“

help-vcr = Aufnahmen von Sprachmodellen
help-vcr-locale = Sprache der Meldungen, etwa de oder en-US [ohne Angabe: VCR_LOCALE, dann die des Systems]

help-recover = Was unterbrochene Aufnahmen hinterließen, in Dateien neben ihren Kassetten ablegen
help-recover-path = Eine Kassette, ihr Journal oder ein Verzeichnis
help-verify = Kassetten beweisen: Format, Hashes, und dass alle Schichten dasselbe sagen. Endet mit 1, wo etwas falsch ist
help-verify-path = Eine Kassette oder ein Verzeichnis
help-freeze = Die neueste Aufnahme einer Kassette als Datei eingefrorener Antworten schreiben
help-freeze-cassette = Die Kassette
help-freeze-frozen = Die Datei, etwa fixtures/answers.jsonl; eine vorhandene wird ersetzt
help-thaw = Geänderte eingefrorene Antworten als neue Aufnahme in ihre Kassette zurücknehmen
help-thaw-frozen = Die Datei eingefrorener Antworten
help-thaw-cassette = Die Kassette; sie hat die Anfragen
help-export = Die neueste Aufnahme einer Kassette in einer Form anderer Programme schreiben
help-export-session = Als Protokoll einer Agentensitzung, das source = "session:FILE" wiedergibt
help-export-cassette = Die Kassette
help-export-file = Die Datei, etwa fixtures/session.jsonl; eine vorhandene wird ersetzt
help-probe = Eine Datei eingefrorener Antworten prüfen, ohne sie wiederzugeben, und ausgeben, was von ihr gesagt werden darf
help-probe-frozen = Die Datei, dahinter Grenzen, die sie nicht überschreiten soll: fixtures/answers.jsonl?max_entries=100

help-serve = Aufnehmen und wiedergeben für Programme in jeder Sprache, an einem lokalen Port
help-serve-long =
    Aufnehmen und wiedergeben für Programme in jeder Sprache, an einem lokalen Port

    Gibt seine Adresse als eine Zeile aus, bleibt, bis er beendet wird (Strg-C, SIGTERM), lässt offene Antworten zu Ende
    gehen und sichert.

    Eine Anfrage sagt selbst, was geschehen soll: durch Felder ihres JSON-Körpers ("vcr": "record", "vcr_scenario":
    "greeting", vcr_invoker, vcr_filename, vcr_fixture_dir, vcr_speed, vcr_chaos, vcr_tick, vcr_target_trace,
    vcr_include_raw, vcr_matching, vcr_repeat) oder durch gleichnamige Kopfzeilen (x-vcr-scenario: greeting). Was sie offen
    lässt, entscheiden die Optionen, dann die Variablen VCR_*, dann vcr.toml.
help-serve-listen = Lokale Adresse; Port 0 ist irgendein freier [ohne Angabe: 127.0.0.1:8356]
help-serve-root = Verzeichnis mit vcr.toml; andere Pfade gelten von dort aus
help-serve-upstream = Basis-URL, oder Name in vcr.toml, wohin Pfade ohne Präfix gehen [ohne Angabe: die Heimat des Protokolls]
help-serve-idle = Sekunden ohne Aufruf, nach denen ein Szenario endet und gesichert wird [ohne Angabe: 10]
help-serve-grace = Sekunden, die offene Antworten nach dem Beenden noch haben [ohne Angabe: 30]
help-serve-body_limit = Größter Körper einer Anfrage in Bytes [ohne Angabe: 67108864]
help-serve-metrics = Was geschah, unter /metrics für Prometheus bereitstellen
help-serve-log = Niedrigste Stufe dessen, was auf stderr protokolliert wird (auf Englisch)
help-serve-frozen = Eingefrorene Antworten im Kassettenverzeichnis, dahinter Grenzen: answers.jsonl?max_calls=40. Aufrufe, die nichts sagen, werden dann wiedergegeben
help-serve-mode = Was mit Aufrufen geschieht, die nichts sagen: live, record, replay, auto, new [ohne Angabe: live]
help-serve-speed = Wie schnell wiedergegeben wird: max, real oder ein Faktor wie 4x [ohne Angabe: max]
help-serve-chaos = Millisekunden, um die das Wiedergeben verzögert wird, oder ein Bereich wie 20..200
help-serve-chaos_seed = Startwert eines Bereichs von Verzögerungen
help-serve-tick = Fenster in Millisekunden, in dem aufgenommene Ströme zusammengefasst werden; 0 behält jedes Stück [ohne Angabe: 100]
help-serve-targets = Aufnahmen, die statt der neuesten wiedergegeben werden: TRACE oder SCENARIO:TRACE, durch Kommas getrennt
help-serve-include_raw = Ob die Bytes des Anbieters behalten werden: auto, true, false [ohne Angabe: auto]
help-serve-matching = Welcher aufgenommene Aufruf antwortet: sequential, keyed, order [ohne Angabe: sequential]
help-serve-fixture_dir = Verzeichnis der Kassetten; keine Anfrage führt aus ihm hinaus [ohne Angabe: fixtures]
help-serve-repeat = Der letzte von gleichen Aufrufen antwortet wieder, wenn alle benutzt sind
help-serve-ignore = JSON-Zeiger in die Anfrage, den der Vergleich auslässt; mehrmals möglich
help-serve-allow_unused = Aufgenommene Aufrufe dürfen am Ende eines Szenarios unbenutzt sein
