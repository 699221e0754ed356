// Tests node objects that crash at every point of a tick: before a write, after a write took effect without its
// answer, and after the tick.
import { describe, expect, it } from "vitest";
import { withoutDeadlines } from "../worker/support/machine.ts";
import { DOWN, expectSound, steady, UP, type WatchedMachine, watched } from "./watched.ts";

const NODE_CREATED = "POST /api/v1/nodes";
const LEASE = "(POST|PUT) /apis/coordination";
const STATUS = "PATCH /api/v1/nodes";
const EVENT = "(POST|PATCH) /api/v1/namespaces/default/events";

const slug = (...words: (string | number)[]) =>
  `crash-${words.join("-")}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

/** Crashes the node object at its `nth` request (from 0) of the kind `of` to the apiserver, while `say` runs. */
async function crashAt(
  machine: WatchedMachine,
  when: "before" | "after",
  [of, nth]: [string, number],
  say: () => Promise<unknown>,
): Promise<void> {
  const kind = when === "before" ? "hangs" : "hangs after its effect";
  await machine.wrong({ kind, of: `^${of}`, after: nth });
  let going: Promise<unknown> | undefined;
  await withoutDeadlines(machine.name, async () => {
    going = say();
    await machine.asked(new RegExp(`^(${of}[^]*){${nth + 1}}`, "m"));
    await machine.crash();
  });
  await machine.well();
  await going;
}

describe.each(["before", "after"] as const)("an object that ends %s", (when) => {
  it.each([
    ["the Node's creation", NODE_CREATED],
    ["the lease's creation", LEASE],
  ])("%s → Ready with the next report", async (what, of) => {
    const machine = await watched(slug(when, what));
    await crashAt(machine, when, [of, 0], () => machine.report());
    await expectSound(machine);
  });

  it.each([0, 1, 2, 3, 4])("event %i of a start → every event once", async (nth) => {
    const machine = await watched(slug(when, "event", nth));
    await crashAt(machine, when, [EVENT, nth], () => machine.report());
    await expectSound(machine);
  });

  it.each([
    ["the renewal", LEASE],
    ["the patch", STATUS],
    ["the event", EVENT],
  ])("%s of a flip → which is recorded once; as it is flipped back → too", async (what, of) => {
    const machine = await steady(slug(when, what, "flip"));
    await crashAt(machine, when, [of, 0], () => machine.report(DOWN));
    await expectSound(machine);
    await crashAt(machine, when, [of, 0], () => machine.report(UP));
    await expectSound(machine);
  });

  it("the renewal of a changed report, and the next report changes back → as if the first had not arrived, since it was not answered", async () => {
    const machine = await steady(slug(when, "renewal", "back"));
    await crashAt(machine, when, [LEASE, 0], () => machine.report(DOWN));
    machine.said.pop();
    await machine.report(UP);
    await expectSound(machine);
  });

  it.each([
    ["the patch", STATUS],
    ["the event", EVENT],
  ])("%s of a flip, and the next report flips back → both are recorded", async (what, of) => {
    const machine = await steady(slug(when, what, "back"));
    await crashAt(machine, when, [of, 0], () => machine.report(DOWN));
    await machine.report(UP);
    await expectSound(machine);
  });

  it("each write of a restarted shim's first report → as if the object had not ended", async () => {
    for (const of of [NODE_CREATED, LEASE, STATUS]) {
      const machine = await steady(slug(when, "restart", of));
      machine.restart();
      await crashAt(machine, when, [of, 0], () => machine.report(DOWN));
      await expectSound(machine);
    }
  });
});

describe("an object that is evicted", () => {
  it("after every report → nothing is lost, and nothing recorded twice", async () => {
    const machine = await watched("evicted-always");
    for (const vitals of [UP, DOWN, DOWN, UP, UP, DOWN]) {
      await machine.report(vitals);
      await machine.evict();
    }
    expect(machine.said).toHaveLength(6);
    await expectSound(machine);
  });
});
