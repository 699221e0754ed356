// Tests questions about units: systemctl's command lines, and the tables made of its output.
import { describe, expect, it, test } from "vitest";
import { units } from "../../../node-shim/questions/units.ts";
import { collected, played } from "./asking.ts";

const SERVICES = `Id=a.service
NRestarts=2
ActiveState=active
SubState=running
Result=success

Id=b.service
NRestarts=0
ActiveState=active
SubState=running
Result=success

Id=c.service
NRestarts=17
ActiveState=activating
SubState=auto-restart
Result=exit-code
`;

test("a machine with failed and restarted units → both, the most restarted first", async () => {
  const failed = "web.service loaded failed failed A web server\n";
  const asking = played({ "--failed": failed, "*.service": SERVICES });
  expect(await collected(units({}, asking))).toEqual([
    "failed units:",
    "  web.service loaded failed failed A web server",
    "services that systemd restarted since their start:",
    "  unit       restarts  active      sub           result",
    "  c.service        17  activating  auto-restart  exit-code",
    "  a.service         2  active      running       success",
  ]);
});

test("a healthy machine → none", async () => {
  const asking = played({ "--failed": "", "*.service": "" });
  expect(await collected(units({}, asking))).toEqual([
    "failed units:",
    "  none",
    "services that systemd restarted since their start:",
    "  none",
  ]);
});

describe("one unit", () => {
  it("its name stands behind --, and its environment and command lines are not asked for", async () => {
    const asking = played({ systemctl: "Id=nginx.service\nResult=exit-code\n" });
    expect(await collected(units({ unit: "nginx" }, asking))).toEqual([
      "Id=nginx.service",
      "Result=exit-code",
    ]);
    expect(asking.ran).toEqual([
      expect.stringMatching(/^systemctl show --no-pager --property=Id,\S+ -- nginx$/),
    ]);
    expect(asking.ran[0]).not.toMatch(/Environment|Exec(Start|Reload|Stop)|LogExtra|Credential/);
  });
});
