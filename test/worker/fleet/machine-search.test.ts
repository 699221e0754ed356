// Tests that the search of the fleet index, with any filter and in any order, finds the same machines as a check of
// each machine.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PHASES } from "../../../shared/protocol/answers.ts";
import { FILTER_LIMITS } from "../../../shared/protocol/limits.ts";
import { FLEET_STATES } from "../../../shared/fleet/state.ts";
import { MACHINE_SORTS, type MachineSort } from "../../../shared/fleet/machine-fields.ts";
import { machinesQuerySchema } from "../../../shared/protocol/fleet-api.ts";
import { MachineRows } from "../../../worker/fleet/machine-rows.ts";
import {
  type FoundMachine,
  MachineSearch,
  type MachineSearchRequest,
  type SearchPosition,
} from "../../../worker/fleet/machine-search.ts";
import { pendingRow, shownMachine } from "../../../worker/fleet/shown-machine.ts";
import recorded from "../../vectors/labelSelectors.json";
import { FLEET_START_MS, machineName, summaryOf } from "../support/made-up-fleet.ts";
import { rowsReadBy } from "../support/rows-read.ts";
import { ADDRESSES, isFound, isWithin, varied, VERSIONS, WORDS } from "../support/varied-fleet.ts";

const KNOWN = 300;
const NOT_KNOWN = { shim: "", kernel: "", os: "", runtime: "", architecture: "" };
const fleet = Array.from({ length: KNOWN }, (_, index) => varied(index));
/** Three pending machines. Two wait for one name; the third waits for a name that the fleet index has. */
const others = [301, 302, 303].map((index): FoundMachine => {
  const { summary } = varied(index);
  const change = { state: "pending" as const, labels: {}, conditions: [], versions: NOT_KNOWN };
  return {
    id: `${machineName(index === 303 ? 5 : 301)} token-${index}`,
    summary: { ...summary, ...change },
  };
});

let objects = 0;
/** Calls `work` with the search over a fleet index with these machines. */
function inIndex<T>(
  machines: readonly FoundMachine[],
  work: (search: MachineSearch, rows: MachineRows, sql: SqlStorage) => T,
): Promise<T> {
  return runInDurableObject(env.INDEX.getByName(`search-${objects++}`), (_, { storage: { sql } }) => {
    const rows = new MachineRows(sql);
    for (const { id, summary } of machines)
      rows.take({ name: id, generation: 1, version: 1, summary, entries: [] });
    return work(new MachineSearch(sql, rows), rows, sql);
  });
}

const REQUEST: MachineSearchRequest = {
  filter: {},
  sort: { by: "name", isDescending: false },
  limit: 1000,
  after: null,
  others: [],
  isCounted: true,
  unlessSeq: null,
};

function found(search: MachineSearch, request: Partial<MachineSearchRequest>) {
  const page = search.page({ ...REQUEST, ...request });
  if (!page.ok || !page.value.found) throw new Error(JSON.stringify(page));
  return page.value.found;
}

/** Returns the IDs on all pages of a search. */
function allFound(search: MachineSearch, request: Partial<MachineSearchRequest>): string[] {
  const ids: string[] = [];
  let after: SearchPosition | null = null;
  do {
    const { machines, next } = found(search, { ...request, after });
    ids.push(...machines.map(({ id }) => id));
    after = next;
  } while (after);
  return ids;
}

const filterOf = (query: Record<string, string>) => machinesQuerySchema.parse(query);

const some = (values: readonly string[]) =>
  fc.subarray([...values], { minLength: 1 }).map((list) => list.join());
const time = fc.integer({ min: -5, max: 55 }).map((s) => new Date(FLEET_START_MS + s * 1000).toISOString());
const versionTerm = fc
  .tuple(fc.constantFrom("", "=", "!=", "<", "<=", ">", ">="), fc.constantFrom(...VERSIONS.slice(0, 6)))
  .map((parts) => parts.join(""));
const QUERIES = fc.record(
  {
    state: some(FLEET_STATES),
    phase: some(PHASES),
    condition: some([
      "Ready",
      "!Ready",
      "DiskPressure=False",
      "MemoryPressure!=Unknown",
      "None",
      "!None",
      "ready=FALSE",
      "!diskpressure",
    ]),
    selector: some([
      "site=berlin",
      "site!=Bern",
      "site in (7,10)",
      "site notin (berlin,7)",
      "example.com/slot",
      "!example.com/slot",
      "example.com/slot>100",
      "site<0010",
      "site",
      "kubernetes.io/hostname in (machine-7,machine-8)",
      "kubernetes.io/hostname!=machine-9",
      "kubernetes.io/hostname>1",
    ]),
    version: fc.array(versionTerm, { minLength: 1, maxLength: 2 }).map((terms) => terms.join()),
    token: fc.constantFrom("token-1", "token-2", "token-3"),
    unused: fc.constantFrom("true", "false"),
    text: fc.constantFrom(...WORDS, "machine-12", "10.0.0.1"),
    since: time,
    until: time,
    beside: fc.integer({ min: 0, max: KNOWN - 1 }).map(machineName),
  },
  { requiredKeys: [] },
);

/** The first sort key of each order. Versions and addresses sort by their positions in their lists. */
const ORDER: Record<MachineSort, (machine: FoundMachine) => string | number> = {
  name: ({ id }) => id,
  state: ({ summary }) => summary.state,
  since: ({ summary }) => summary.sinceMs,
  version: ({ summary }) => {
    const at = VERSIONS.indexOf(summary.versions.shim);
    return at < 6 ? at : -1;
  },
  address: ({ summary }) => (summary.address === "" ? -1 : ADDRESSES.indexOf(summary.address)),
  urgency: ({ summary }) =>
    ["cluster-unreachable", "silent", "not-ready", "blocked", "pending", "revoked", "ready"].indexOf(
      summary.state,
    ) *
      1e15 -
    summary.sinceMs,
};

function inOrder(machines: FoundMachine[], { by, isDescending }: MachineSearchRequest["sort"]): string[] {
  const compare = (a: string | number, b: string | number) => (a < b ? -1 : Number(a > b));
  const sorted = machines.toSorted((a, b) => compare(ORDER[by](a), ORDER[by](b)) || compare(a.id, b.id));
  return (isDescending ? sorted.reverse() : sorted).map(({ id }) => id);
}

function countsOf(machines: FoundMachine[]) {
  const counts: Record<string, number> = {};
  for (const { summary } of machines) counts[summary.state] = (counts[summary.state] ?? 0) + 1;
  return counts;
}

it("any query → the machines, order and counts of a check of each machine", () =>
  inIndex(fleet, (search) => {
    const request = fc.record({
      query: QUERIES,
      sort: fc.record({ by: fc.constantFrom(...MACHINE_SORTS), isDescending: fc.boolean() }),
      limit: fc.constantFrom(7, 100, 1000),
      others: fc.constantFrom([], others),
    });
    fc.assert(
      fc.property(request, ({ query, sort, limit, others: waiting }) => {
        const filter = filterOf(query);
        const all = [...fleet, ...waiting];
        const beside = fleet.find(({ id }) => id === query.beside)?.summary.address;
        if (beside === "") return;
        const expected = all.filter((machine) => isFound(machine, filter, beside));
        expect(allFound(search, { filter, sort, limit, others: waiting })).toEqual(inOrder(expected, sort));
        const { counts } = found(search, { filter, others: waiting });
        expect(counts).toEqual({ matching: countsOf(expected), fleet: countsOf(all) });
        const known = expected.filter((machine) => fleet.includes(machine));
        const statuses = search.statuses(filter, 1000);
        expect(statuses.ok && statuses.value.map(({ name }) => name)).toEqual(known.map(({ id }) => id));
      }),
      { numRuns: 150 },
    );
  }));

it.each(["site<0010", "example.com/slot>100", "kubernetes.io/hostname>1"])(
  "a label compared as a number, %s → the verdicts of Kubernetes",
  (selector) =>
    inIndex(fleet, (search) => {
      const filter = filterOf({ selector });
      const expected = fleet.filter((machine) => isFound(machine, filter)).map(({ id }) => id);
      expect(allFound(search, { filter })).toEqual(expected);
    }),
);

it("a machine that waits for approval → operators see its request, and no fact about it", () => {
  const asked = {
    name: "a",
    token: "t",
    thumbprint: "p",
    machineID: "m",
    systemUUID: "u",
    address: "203.0.113.7",
  };
  const at = new Date(FLEET_START_MS).toISOString();
  const shown = shownMachine(pendingRow({ ...asked, askedAt: at, expiresAt: at, pinned: null }));
  const key = { thumbprint: "p", token: "t", pinnedAt: at, isUsed: false };
  expect(shown).toMatchObject({ name: "a", state: "pending", since: at, address: "203.0.113.7", key });
  expect(shown).toMatchObject({ conditions: [], labels: {}, addresses: [], capacity: {}, created: null });
});

it.each([
  "203.0.113.7",
  "203.0.113.0/24",
  "0.0.0.0/0",
  "2001:db8::/32",
  "2001:db8::/64",
  "::/0",
  "10.0.0.0/8",
])("address %s → the machines that report from there", (address) =>
  inIndex(fleet, (search) => {
    const expected = fleet.filter(({ summary }) => isWithin(summary.address, address)).map(({ id }) => id);
    expect(allFound(search, { filter: filterOf({ address }) })).toEqual(expected);
  }),
);

it("label selectors → the verdicts of Kubernetes", () => {
  const sets = recorded.cases[0]!.given.labels as unknown as Record<string, string>[];
  const machines = sets.map((labels, index) => ({
    id: machineName(index),
    summary: summaryOf(index, { labels }),
  }));
  return inIndex(machines, (search) => {
    for (const { given, want } of recorded.cases) {
      if (!want.matches || given.selector === "") continue;
      const expected = machines.filter((_, index) => want.matches[index]).map(({ id }) => id);
      const found = allFound(search, { filter: filterOf({ selector: given.selector }) });
      expect([given.selector, found]).toEqual([given.selector, expected]);
    }
  });
});

it("a filter with the largest number of terms → accepted", () =>
  inIndex(fleet.slice(0, 3), (search) => {
    const { terms, labelValues } = FILTER_LIMITS;
    const times = (text: string) => Array.from({ length: terms }, () => text).join();
    const values = Array.from({ length: labelValues - terms + 1 }, (_, index) => `v${index}`).join();
    const at = new Date(FLEET_START_MS).toISOString();
    const filter = filterOf({
      state: FLEET_STATES.join(),
      phase: PHASES.join(),
      condition: times("Ready"),
      selector: `site in (${values}),${times("site>1").slice("site>1,".length)}`,
      version: times(">0.1.0"),
      address: "0.0.0.0/0",
      token: "t",
      unused: "true",
      text: `${"word ".repeat(terms - 1)}edge-*`,
      since: at,
      until: at,
    });
    const after = { key: 1, id: "m" };
    const sort = { by: "urgency", isDescending: true } as const;
    expect(found(search, { filter, after, sort, others }).machines).toEqual([]);
  }));

describe("the neighbours of a machine", () => {
  it("that is unknown, or whose address is unknown → the answer states that", () =>
    inIndex([{ id: "a", summary: summaryOf(1, { address: "" }) }], (search) => {
      const expected = [
        { ok: false, error: "the address from which this machine reports is not known" },
        { ok: false, error: "no machine has this name" },
      ];
      const beside = [{ beside: "a" }, { beside: "b" }];
      expect(beside.map((filter) => search.page({ ...REQUEST, filter }))).toEqual(expected);
      expect(beside.map((filter) => search.statuses(filter, 10))).toEqual(expected);
    }));

  it.each([
    ["a wider range", "2001:db8::/32", ["b", "c"]],
    ["a range within it", "2001:db8:0:1::2", ["c"]],
    ["another range", "2001:db8:0:2::/64", []],
  ])("and %s of addresses → the machines of both", (_, address, expected) => {
    const addresses = { a: "2001:db8::1", b: "2001:db8:0:1::1", c: "2001:db8:0:1::2", d: "2001:db8:0:2::1" };
    const machines = Object.entries(addresses).map(([id, each]) => ({
      id,
      summary: summaryOf(1, { address: each }),
    }));
    return inIndex(machines, (search) => {
      expect(allFound(search, { filter: filterOf({ beside: "b", address }) })).toEqual(expected);
    });
  });
});

it("a page without counts → the same machines", () =>
  inIndex(fleet, (search) => {
    const { machines, counts } = found(search, { isCounted: false });
    expect([machines, counts]).toEqual([found(search, {}).machines, null]);
  }));

describe("the cost of a page in the order of names", () => {
  const FLEET = Array.from({ length: 80 }, (_, index) => ({
    id: machineName(index),
    summary: summaryOf(index),
  }));
  const readFor = (rows: MachineRows, sql: SqlStorage, request: Partial<MachineSearchRequest>) =>
    rowsReadBy(sql, (counted) => void found(new MachineSearch(counted, rows), { limit: 1, ...request }));
  /** Returns a filter that matches the first machines, and the rows that their count reads. */
  const first = (rows: MachineRows, sql: SqlStorage, count: number) => {
    const filter = filterOf({ until: new Date(FLEET_START_MS + count - 1).toISOString() });
    return { filter, counted: readFor(rows, sql, { filter, after: { key: "z", id: "z" } }) };
  };

  it("no filter → it reads the page's rows alone, and counts none", () =>
    inIndex(FLEET, (_, rows, sql) => {
      expect(readFor(rows, sql, {})).toBeLessThan(10);
    }));

  it.each([
    ["seven of eight machines match → it reads rows until the page is full", 70, true],
    ["fewer match → it reads all rows once, without the index of names", 69, false],
  ])("%s", (_, count, isShort) =>
    inIndex(FLEET, (_search, rows, sql) => {
      const { filter, counted } = first(rows, sql, count);
      expect(readFor(rows, sql, { filter }) - counted < 40).toBe(isShort);
    }),
  );
});

it.each([
  ["as long as a page may be → one page", 0, [3]],
  ["one character longer → two pages", 1, [2, 1]],
])("summaries that are together %s", (_, more, pages) => {
  const textOf = (index: number, length: number) => summaryOf(index, { why: "x".repeat(length) });
  const base = JSON.stringify(textOf(1, 0)).length;
  const length = (4 * 1024 * 1024) / 3;
  const machines = [1, 2, 3].map((index) => ({
    id: machineName(index),
    summary: textOf(index, (index === 3 ? Math.ceil(length) + more : Math.floor(length)) - base),
  }));
  return inIndex(machines, (search) => {
    const sizes: number[] = [];
    for (let after: SearchPosition | null = null, isFirst = true; isFirst || after; isFirst = false) {
      const page = found(search, { after });
      sizes.push(page.machines.length);
      after = page.next;
    }
    expect(sizes).toEqual(pages);
  });
});

it("label sets that no machine has any more → deleted in time", () =>
  inIndex(fleet.slice(0, 3), (search, rows, sql) => {
    for (let version = 2; version < 240; version++) {
      const labels = { turn: String(version) };
      rows.take({ name: "a", generation: 1, version, summary: summaryOf(1, { labels }), entries: [] });
    }
    const sets = sql.exec("SELECT id FROM sets").toArray().length;
    expect(sets).toBeLessThan(220);
    // The deletion reads all machines, so not each new set is followed by one.
    expect(sets).toBeGreaterThan(50);
    expect(allFound(search, { filter: filterOf({ selector: "turn=239" }) })).toEqual(["a"]);
    expect(allFound(search, { filter: filterOf({ selector: "!turn" }) })).toHaveLength(3);
  }));

describe("between two pages", () => {
  it("machines are added, changed and removed → each unchanged one is listed once", () =>
    inIndex(fleet, (search, rows) => {
      const sort = { by: "since", isDescending: false } as const;
      const first = found(search, { sort, limit: 120 });
      const seen = first.machines.map(({ id }) => id);
      // Between the two pages, a machine of the first page moves to the end, a machine of a later page is removed,
      // and a machine is added.
      const [moved, gone] = [seen[3]!, fleet.find(({ id }) => !seen.includes(id))!.id];
      const later = { ...fleet[0]!.summary, sinceMs: FLEET_START_MS + 3_600_000 };
      rows.take({ name: moved, generation: 1, version: 2, summary: later, entries: [] });
      rows.remove(gone, 1, FLEET_START_MS, "left");
      rows.take({ name: "new", generation: 1, version: 1, summary: later, entries: [] });
      const second = found(search, { sort, limit: 1000, after: first.next });
      const rest = second.machines.map(({ id }) => id);
      expect(rest).toContain("new");
      expect(rest).toContain(moved);
      expect(rest).not.toContain(gone);
      const stayed = fleet.map(({ id }) => id).filter((id) => id !== moved && id !== gone);
      const shown = [...seen, ...rest].filter((id) => id !== moved && id !== "new");
      expect(shown.toSorted()).toEqual(stayed);
      expect(second.counts?.fleet).toEqual(countsOf([...found(search, {}).machines]));
    }));

  it("nothing changes → the number of the last change shows that", () =>
    inIndex(fleet.slice(0, 3), (search, rows) => {
      const ask = () => search.page({ ...REQUEST, unlessSeq: 3 });
      expect(ask()).toEqual({ ok: true, value: { seq: 3, found: null } });
      rows.remove(machineName(1), 1, FLEET_START_MS, "left");
      expect(ask()).toMatchObject({ value: { seq: 4, found: { machines: [{}, {}] } } });
    }));
});
