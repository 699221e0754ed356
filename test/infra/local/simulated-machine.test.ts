import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type SimulatedFaults, simulatedFaults } from "../../../infra/local/simulated-machine.ts";

let folder: string;
let stop: AbortController;
/** Reads the file of faults, as the timer does; null once the timer has ended. */
let look: (() => void) | null;
let lines: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-faults-"));
  stop = new AbortController();
  [look, lines] = [null, []];
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const file = () => join(folder, "faults.json");
const write = (text: string) => writeFileSync(file(), text);
const start = (): SimulatedFaults =>
  simulatedFaults(
    file(),
    stop.signal,
    (line) => lines.push(line),
    (_, ring) => {
      look = ring;
      return () => (look = null);
    },
  );

it("no file → all is well; one that is written later counts, as does its end", async () => {
  const faults = start();
  expect(faults.of("sim-1")).toBeUndefined();
  const down = faults.until(() => faults.of("sim-1") === "down", stop.signal);
  write('{"sim-1": "down"}');
  look?.();
  await down;
  const well = faults.until(() => faults.of("sim-1") === undefined, stop.signal);
  rmSync(file());
  look?.();
  await well;
});

it.each(["{", '["sim-1"]', '{"sim-1": "sleepy"}'])("%s → said, and what was read last stays", (text) => {
  write('{"sim-1": "cut off"}');
  const faults = start();
  write(text);
  look?.();
  expect(lines.at(-1)).toContain("is no JSON object");
  expect(faults.of("sim-1")).toBe("cut off");
});

it("the file as it was → is not read again", () => {
  write("{}");
  start();
  look?.();
  expect(lines).toEqual([expect.stringContaining("0 machines have a fault")]);
});

it("what ends the wait ends it; what stops the machines stops looking", async () => {
  const faults = start();
  const ends = new AbortController();
  const waiting = faults.until(() => false, ends.signal);
  ends.abort();
  await waiting;
  expect(look).not.toBeNull();
  stop.abort();
  expect(look).toBeNull();
});
