// Tests which running shim belongs to the service, and whether the Worker has answered that shim.
import { expect, test } from "vitest";
import { type ServiceShim, shimOfService } from "../../../../node-shim/commands/upgrade.ts";
import type { LastingStatus, SeenStatus } from "../../../../node-shim/status/status-file.ts";
import { running, WELL } from "../../status/status.ts";

const SERVICE = "0::/system.slice/rollcall-node-shim.service\n";

test.each<
  [situation: string, seen: SeenStatus<LastingStatus> | null, cgroups: string, shim: ServiceShim | null]
>([
  ["answered", running(), SERVICE, { version: "0.1.0", hasAnswer: true }],
  ["not answered yet", running({ answer: undefined }), SERVICE, { version: "0.1.0", hasAnswer: false }],
  ["gone", { file: WELL, isRunning: false }, SERVICE, null],
  ["no status", null, SERVICE, null],
  ["started by a user", running(), "0::/user.slice/user-0.slice/session-1.scope\n", null],
  [
    "started by the upgrade service",
    running(),
    "0::/system.slice/rollcall-node-shim-upgrade.service\n",
    null,
  ],
])("%s", (_situation, seen, cgroups, shim) => {
  const found = shimOfService(seen, (pid) => {
    expect(pid).toBe("4711");
    return cgroups;
  });
  expect(found).toEqual(shim);
});
