// Measures durations without asserting them: they differ between computers.
import type { Fleet } from "./fleet.ts";
import { hasProgram, type Lab } from "./lab.ts";
import { measureManySilent } from "./node-lifecycle.ts";
import { measureThroughput } from "./scheduler.ts";

interface Measurement {
  what: string;
  program: string;
  fleets: readonly Fleet[];
  /** Returns the duration in seconds; null after the time limit. */
  measure: (lab: Lab, fleet: Fleet) => Promise<number | null>;
}

const ours = (count: number): Fleet => ({ count, kind: "ours", state: "ready" });

const MEASUREMENTS: readonly Measurement[] = [
  {
    what: "500 pods on 20 workers",
    program: "kube-scheduler",
    fleets: [ours(0), ours(5000)],
    measure: measureThroughput,
  },
  {
    what: "all of ours go silent, and a kubelet dies: NoExecute on it, at the default rates",
    program: "kube-controller-manager",
    fleets: [ours(0), ours(30), ours(1000)],
    measure: measureManySilent,
  },
];

/** Runs all measurements and returns one line for each. `say` prints the progress. */
export async function measurements(lab: Lab, say: (text: string) => void): Promise<string> {
  let text = "\nseconds, by the number of ours\n";
  for (const { what, program, fleets, measure } of MEASUREMENTS) {
    if (!hasProgram(program)) continue;
    const seconds: string[] = [];
    for (const fleet of fleets) {
      const seen = await measure(lab, fleet);
      const took = seen === null ? "not in time" : `${seen.toFixed(1)} s`;
      await lab.clear();
      say(`${what}: ${fleet.count} of ours: ${took}`);
      seconds.push(`${fleet.count.toLocaleString("en")}: ${took}`);
    }
    text += `  ${program}: ${what}\n    ${seconds.join(", ")}\n`;
  }
  return text;
}
