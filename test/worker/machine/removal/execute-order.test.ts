// Tests a machine's part of an action on many machines: what its node object does, and for which machines it does
// nothing.
import { describe, expect, it, vi } from "vitest";
import type { Environment } from "../../../../worker/env.ts";
import { executeOrder, type OrderDependencies } from "../../../../worker/machine/removal.ts";
import type { MachineOrder } from "../../../../worker/registry/bulk.ts";
import type { NodeRecords } from "../../../../worker/storage/records.ts";
import { keptRecords } from "../../support/kept-records.ts";
import { setClock } from "../../support/clock.ts";

const NOW_MS = Date.UTC(2026, 0, 31);
const DAY_MS = 24 * 3600 * 1000;
const REGISTERED = { startId: "start-1", phase: "registered" };
const ENROLMENT = { name: "edge-1", generation: 7 };
const SILENT = { enrolment: ENROLMENT, registration: REGISTERED, silentSinceMs: NOW_MS - 30 * DAY_MS };

interface Situation {
  kept?: Partial<Record<keyof NodeRecords, unknown>>;
  order?: Partial<MachineOrder>;
  isEnrolled?: boolean;
  /** The value of REMOVE_SILENT_NODES_DAYS. */
  days?: string;
  isCloned?: boolean;
  registersNode?: boolean;
  removal?: (kept: Map<string, unknown>) => boolean;
}

async function executed(act: MachineOrder["act"], situation: Situation = {}) {
  const { kept = {}, order = {}, isEnrolled = true, days = "30", isCloned = true } = situation;
  const state = keptRecords({ enrolment: ENROLMENT, registration: REGISTERED, ...kept });
  const done: string[] = [];
  const note = (text: string, ok = true) => (done.push(text), ok);
  setClock(NOW_MS);
  const dependencies = {
    env: { REMOVE_SILENT_NODES_DAYS: days } as Environment,
    state: {
      ...state,
      keys: { enrolled: () => (isEnrolled ? {} : null) },
      facts: { current: () => ({ settings: { registerNode: situation.registersNode } }) },
      alarm: { atLatest: (atMs: number) => Promise.resolve(void note(`alarm +${atMs - NOW_MS}`)) },
    },
    acts: {
      revoke: (generation: number) => void note(`revoke ${generation}`),
      registerAgain: () => note("register", state.kept.get("registration") !== undefined),
      believe: () => note("believe", isCloned),
    },
    removal: {
      remove: (name: string, by: object) =>
        Promise.resolve({
          ok: note(`remove ${name} ${JSON.stringify(by)}`, situation.removal?.(state.kept) ?? true),
        }),
      removeNode: (name: string) =>
        Promise.resolve(note(`remove the Node of ${name}`, situation.removal?.(state.kept) ?? true)),
    },
  } as unknown as OrderDependencies;
  try {
    const outcome = await executeOrder(dependencies, "edge-1", {
      act,
      generation: 7,
      unpinned: 9,
      ...order,
    }).catch((error: unknown) => String(error));
    return { outcome, done, ...state };
  } finally {
    vi.restoreAllMocks();
  }
}

describe("an order", () => {
  it.each<[string, MachineOrder["act"], Situation, string | null, string[]]>([
    ["to revoke", "revoke", {}, null, ["revoke 9"]],
    ["to forget", "forget", {}, null, ['remove edge-1 {"unpinned":9}', "alarm +60000"]],
    [
      "to forget, without the apiserver",
      "forget",
      { removal: () => false },
      "its Node could not be removed yet: its object goes on trying",
      ['remove edge-1 {"unpinned":9}'],
    ],
    ["to register", "register", {}, null, ["register"]],
    [
      "to register what never did",
      "register",
      { kept: { registration: undefined } },
      "it has never registered",
      ["register"],
    ],
    ["to believe", "believe", {}, null, ["believe"]],
    [
      "to believe one sender",
      "believe",
      { isCloned: false },
      "it is neither cloned nor two shims",
      ["believe"],
    ],
    ["for a machine that enrolled later", "register", { order: { generation: 6 } }, CHANGED(), []],
    ["for a machine whose key is refused", "believe", { isEnrolled: false }, CHANGED(), []],
    [
      "for a machine from before there were pins",
      "register",
      { kept: { enrolment: { name: "edge-1" } }, order: { generation: 0 } },
      null,
      ["register"],
    ],
  ])("%s", async (_, act, situation, outcome, done) => {
    expect(await executed(act, situation)).toMatchObject({ outcome, done });
  });
});

function CHANGED() {
  return "its key has changed, or is refused by now";
}

describe("an order to remove a silent machine's Node", () => {
  const gone = { phase: "node deleted", startId: "start-1" };
  it.each<[string, Situation, string | null, boolean]>([
    ["silent for as long", { kept: SILENT }, null, true],
    ["silent for less", { kept: { ...SILENT, silentSinceMs: SILENT.silentSinceMs + 1 } }, SHORT(), false],
    ["not silent", { kept: { ...SILENT, silentSinceMs: null } }, SHORT(), false],
    ["where that is off by now", { kept: SILENT, days: "" }, SHORT(), false],
    ["another machine's", { kept: SILENT, order: { generation: 6 } }, CHANGED(), false],
    ["not registered", { kept: { ...SILENT, registration: { ...gone } } }, "it has no Node", false],
    [
      "taken by another",
      { kept: { ...SILENT, registration: { phase: "name taken" } } },
      "it has no Node",
      false,
    ],
    [
      "that registers none",
      { kept: SILENT, registersNode: false },
      "it would not create its Node again",
      false,
    ],
    [
      "whose removal was interrupted",
      { kept: { ...SILENT, registration: gone, deletion: { silentDays: 30 } } },
      null,
      true,
    ],
    [
      "without the apiserver",
      { kept: SILENT, removal: () => false },
      "Error: the Node could not be removed",
      true,
    ],
  ])("%s", async (_, situation, outcome, isAsked) => {
    const { done, ...rest } = await executed("remove-node", situation);
    expect(rest.outcome).toBe(outcome);
    expect(done).toEqual(isAsked ? ["remove the Node of edge-1"] : []);
    expect(rest.notes).toEqual(
      outcome === null
        ? ["registration: the Node was removed after 30 days of silence", "phase: node deleted"]
        : [],
    );
    // The registration is reset in storage before the apiserver gets the request, so that it is reset even if the
    // outcome is unknown.
    if (isAsked)
      expect([rest.kept.get("registration"), rest.kept.get("deletion")]).toMatchObject([
        gone,
        { silentDays: 30 },
      ]);
  });

  it("during a registration by a report → the next report registers it again", async () => {
    const { outcome, ...rest } = await executed("remove-node", {
      kept: SILENT,
      removal: (kept) => {
        kept.set("registration", REGISTERED);
        kept.delete("deletion");
        return true;
      },
    });
    expect([outcome, rest.kept.get("registration")]).toMatchObject([null, gone]);
  });
});

function SHORT() {
  return "it is not silent for so long any more";
}
