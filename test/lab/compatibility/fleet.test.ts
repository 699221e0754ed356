// Runs the fleet of `npm run fleet` on a real apiserver, as small as it can be.
import { expect, test } from "vitest";
import { runFleet } from "../fleet/run.ts";

const MACHINES = 80;
const WITHIN_MS = 420_000;

test.skipIf(!process.env["KUBEBUILDER_ASSETS"])(
  "a fleet with faults → five places report the same states",
  { timeout: 3 * WITHIN_MS },
  async () => {
    expect(await runFleet(MACHINES, WITHIN_MS)).toBe(true);
  },
);
