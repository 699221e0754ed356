import { expect, test } from "vitest";
import { readFlags } from "../../../../infra/local/apiserver/serve.ts";

test.each([
  [["--data", "d"], { data: "d", port: 0, nodeLifecycle: {} }],
  [["--data", "d", "--port", "65535"], { data: "d", port: 65_535, nodeLifecycle: {} }],
  [
    ["--data", "d", "--node-monitor-period", "1s", "--node-startup-grace-period", "1m"],
    { data: "d", port: 0, nodeLifecycle: { monitorPeriodMs: 1000, startupGracePeriodMs: 60_000 } },
  ],
  [["--data", "d", "--help"], "help"],
])("%j → %j", (args, value) => {
  expect(readFlags(args)).toEqual({ ok: true, value });
});

test.each([
  [[], /^--data DIR is required; see --help$/],
  [["--port", "x", "--data", "d"], /^--port x is not a port$/],
  [["--port", "65536", "--data", "d"], /^--port 65536 is not a port$/],
  [
    ["--data", "d", "--node-monitor-grace-period", "50"],
    /^--node-monitor-grace-period 50 is not a duration such as 50s$/,
  ],
  [["--data", "d", "--node-monitor-period", "0s"], /^--node-monitor-period 0s is not a duration/],
  [["--nope"], /^Unknown option '--nope'.*; see --help$/s],
])("%j → refused, with why", (args, why) => {
  expect(readFlags(args)).toEqual({ ok: false, error: expect.stringMatching(why) });
});
