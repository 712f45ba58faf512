// aimock on a free port of loopback: `node serve.mjs FIXTURES`. Prints its address and serves until its input is closed.
import { LLMock } from "@copilotkit/aimock";

// Strict: a request that no fixture matches is an error here, and is never passed on.
const mock = new LLMock({ port: 0, host: "127.0.0.1", strict: true, logLevel: "warn" });
mock.loadFixtureFile(process.argv[2]);
await mock.start();
console.log(mock.url);
process.stdin.resume();
process.stdin.on("end", async () => {
  await mock.stop();
  process.exit(0);
});
