import { describe, test } from "vitest";
import { daemonEndpoints } from "../../../shared/setters/daemon-endpoints.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const port = (Port: number) => ({ daemonEndpoints: { kubeletEndpoint: { Port } } });

describe("daemonEndpoints", () => {
  test.each([
    { name: "no server → port 0, which is on the wire", given: { kubeletEndpoint: { Port: 0 } }, port: 0 },
    { name: "a kubelet's server → its port", given: { kubeletEndpoint: { Port: 10250 } }, port: 10250 },
    { name: "no endpoint is given → port 0", given: {}, port: 0 },
    {
      name: "a kubelet had the machine before → its port goes, so that nobody calls it",
      before: port(10250),
      given: { kubeletEndpoint: { Port: 0 } },
      port: 0,
    },
  ])("$name", ({ before = {}, given, port: wanted }) => {
    const outcome = runSetter(() => daemonEndpoints(given), { status: before });
    expectOutcome(outcome, { status: port(wanted) });
  });
});
