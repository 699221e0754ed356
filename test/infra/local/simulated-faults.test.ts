import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { simulatedFaults } from "../../../infra/local/simulated-faults.ts";

let folder: string;
let stop: AbortController;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-faults-"));
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  rmSync(folder, { recursive: true });
});

const file = () => join(folder, "faults.json");
const write = (text: string) => writeFileSync(file(), text);

it("no file → all is well; one that is written later counts, as does its end", async () => {
  const faults = simulatedFaults(file(), stop.signal, () => undefined);
  expect(faults.of("sim-1")).toBeUndefined();
  write('{"sim-1": "down"}');
  await faults.until(() => faults.of("sim-1") === "down", stop.signal);
  rmSync(file());
  await faults.until(() => faults.of("sim-1") === undefined, stop.signal);
});

it.each(["{", '["sim-1"]', '{"sim-1": "sleepy"}'])(
  "%s → said, and what was read last stays",
  async (text) => {
    write('{"sim-1": "cut off"}');
    const lines: string[] = [];
    const faults = simulatedFaults(file(), stop.signal, (line) => lines.push(line));
    write(text);
    await faults.until(() => lines.some((line) => line.includes("is no JSON object")), stop.signal);
    expect(faults.of("sim-1")).toBe("cut off");
  },
);

it("what ends the wait ends it", async () => {
  const faults = simulatedFaults(file(), stop.signal, () => undefined);
  const ends = new AbortController();
  const waiting = faults.until(() => false, ends.signal);
  ends.abort();
  await waiting;
});
