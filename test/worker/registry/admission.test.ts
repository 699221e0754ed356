// Tests which machine gets a name once token and key are verified: one decision over the registry's tables.
import { describe, expect, it } from "vitest";
import { admit, approvePending, pinnedTo } from "../../../worker/registry/admission.ts";
import { CHANGES_A_DAY, readAudit } from "../../../worker/registry/audit.ts";
import { findPending, listPending, MAX_PENDING, rejectPending } from "../../../worker/registry/pending.ts";
import { bury, confirmPin, findPin, isBuried, setNextKey, unpin } from "../../../worker/registry/pins.ts";
import { findToken, PENDING_MS, revokeToken } from "../../../worker/registry/tokens.ts";
import { Turns } from "../../../worker/registry/turns.ts";
import { RATE_LIMITS } from "../../../worker/storage/token-bucket.ts";
import { addToken, asking, withinRegistry } from "../support/registry-storage.ts";

const END_MS = 1_000_000;
const DAY_MS = 24 * 3600 * 1000;

/** Returns the outcome of an admission in short: `pinned` with the key, or the reason. */
function admitted(sql: SqlStorage, ...[who, nowMs = 10]: [ReturnType<typeof asking>, number?]): string {
  const outcome = admit(sql, who, nowMs);
  return outcome.ok ? `pinned ${outcome.value.thumbprint}` : outcome.error.reason;
}
const usesOf = (sql: SqlStorage, id = "t1") => findToken(sql, id, 10)?.used;
const within = <Outcome>(name: string, act: (sql: SqlStorage) => Outcome) =>
  withinRegistry(`admission-${name}`, act);

type Step = (sql: SqlStorage) => unknown;
const aHasIt: Step = (sql) => {
  addToken(sql, "t0");
  admit(sql, asking("a", { token: "t0" }), 5);
  const { generation } = findPin(sql, "edge-1")!;
  confirmPin(sql, { name: "edge-1", generation, thumbprint: "a" }, 0, 6);
};

describe("a machine that asks for a name", () => {
  it.each<[string, Step, string]>([
    ["that is free → has it", (sql) => addToken(sql, "t1"), "pinned b"],
    ["with a token that is unknown → refused", () => undefined, "refused"],
    ["with a revoked token → refused", (sql) => [addToken(sql, "t1"), revokeToken(sql, "t1", 1)], "refused"],
    [
      "with a key that lost another name → refused",
      (sql) => [addToken(sql, "t1"), bury(sql, "x", "b", 1, "rejected")],
      "refused",
    ],
    ["that another one has → waits", (sql) => [addToken(sql, "t1"), aHasIt(sql)], "pending"],
    [
      "that another one has, to take it over → has it",
      (sql) => [addToken(sql, "t1", { rejoin: true }), aHasIt(sql)],
      "pinned b",
    ],
    [
      "that was another one's, which is revoked → has it",
      (sql) => [addToken(sql, "t1"), aHasIt(sql), unpin(sql, "edge-1", "machine.revoke", 7)],
      "pinned b",
    ],
  ])("%s", async (situation, before, outcome) => {
    const found = await within(situation, (sql) => {
      before(sql);
      return admitted(sql, asking("b"));
    });
    expect(found).toBe(outcome);
  });

  it.each<[string, Step, number, string]>([
    ["an unknown token", () => undefined, 10, "there is no such token"],
    [
      "a revoked token",
      (sql) => [addToken(sql, "t1"), revokeToken(sql, "t1", 1)],
      10,
      "the token is revoked",
    ],
    ["a token that has ended", (sql) => addToken(sql, "t1"), END_MS, "the token has expired"],
    [
      "a token that is used up",
      (sql) => [addToken(sql, "t1", { uses: 1 }), admit(sql, asking("x", { name: "x" }), 5)],
      10,
      "the token is used up",
    ],
    [
      "the same for a name that another one has",
      (sql) => [aHasIt(sql), addToken(sql, "t1", { uses: 1 }), admit(sql, asking("x", { name: "x" }), 5)],
      10,
      "the token is used up",
    ],
    [
      "a key that lost a name",
      (sql) => [addToken(sql, "t1"), bury(sql, "x", "b", 1, "rejected")],
      10,
      "the key is refused for ever",
    ],
  ])("with %s → the cause is for the log", async (situation, before, nowMs, cause) => {
    const outcome = await within(`cause-${situation}`, (sql) => {
      before(sql);
      return admit(sql, asking("b"), nowMs);
    });
    expect(outcome).toEqual({ ok: false, error: { reason: "refused", cause } });
  });

  it.each([
    ["a moment before its token ends → has it", END_MS - 1, "pinned b"],
    ["as its token ends → refused", END_MS, "refused"],
  ])("%s", async (situation, nowMs, outcome) => {
    const found = await within(situation, (sql) => {
      addToken(sql, "t1");
      return admitted(sql, asking("b"), nowMs);
    });
    expect(found).toBe(outcome);
  });

  it.each([
    ["before the name changed", 4, "not fresh"],
    ["in the moment in which it changed", 5, "not fresh"],
    ["after it changed", 6, "pending"],
  ])("over a challenge from %s", async (situation, challengedAtMs, outcome) => {
    const found = await within(situation, (sql) => {
      addToken(sql, "t1");
      aHasIt(sql);
      return admit(sql, asking("b", { challengedAtMs }), 10);
    });
    const changedAtMs = outcome === "not fresh" ? { changedAtMs: 5 } : {};
    expect(found).toMatchObject({ error: { reason: outcome, ...changedAtMs } });
  });

  it("again, with an expired token and an old challenge → the same pin, counted once", async () => {
    const found = await within("again", (sql) => {
      addToken(sql, "t1");
      const again = { ...asking("b"), challengedAtMs: 0 };
      const outcomes = [admitted(sql, asking("b")), admitted(sql, again), admitted(sql, again, END_MS)];
      return { outcomes, used: usesOf(sql), logged: readAudit(sql, { by: "machines", limit: 10 }).length };
    });
    expect(found).toEqual({ outcomes: ["pinned b", "pinned b", "pinned b"], used: 1, logged: 1 });
  });

  it("that it has, with another token → keeps its pin, and the other token is counted", async () => {
    const found = await within("other-token", (sql) => {
      addToken(sql, "t1");
      aHasIt(sql);
      const before = findPin(sql, "edge-1");
      const outcome = admitted(sql, asking("a"));
      return {
        outcome,
        used: usesOf(sql),
        isSame: findPin(sql, "edge-1")!.generation === before!.generation,
      };
    });
    expect(found).toEqual({ outcome: "pinned a", used: 1, isSame: true });
  });

  it("with its next key → keeps its pin", async () => {
    const found = await within("next-key", (sql) => {
      addToken(sql, "t1");
      aHasIt(sql);
      const { generation } = findPin(sql, "edge-1")!;
      setNextKey(sql, { name: "edge-1", generation, thumbprint: "b" }, 7);
      return [admitted(sql, asking("b")), findPin(sql, "edge-1")?.generation === generation];
    });
    expect(found).toEqual(["pinned a", true]);
  });

  it("that it lost without a report for a day → gets it again with a fresh challenge", async () => {
    const found = await within("lapsed", (sql) => {
      addToken(sql, "t1", { expiresInSeconds: 7 * 24 * 3600, uses: 1 });
      return [admitted(sql, asking("b"), 10), admitted(sql, asking("b"), 10 + DAY_MS), usesOf(sql)];
    });
    expect(found).toEqual(["pinned b", "pinned b", 1]);
  });

  it("that it takes over → logged as a takeover, and the key before is revoked", async () => {
    const found = await within("take-over", (sql) => {
      addToken(sql, "t1", { rejoin: true });
      aHasIt(sql);
      admitted(sql, asking("b"));
      return [isBuried(sql, "a"), isBuried(sql, "b"), readAudit(sql, { by: "machines", limit: 1 })];
    });
    const entry = { who: "token t1", what: "machine.take-over", target: "edge-1", detail: "key b" };
    expect(found).toEqual([true, false, [expect.objectContaining(entry)]]);
  });

  it("more often than the daily limit → too often, and nothing changes", async () => {
    const found = await within("often", (sql) => {
      addToken(sql, "t1", { uses: 100 });
      const outcomes: string[] = [];
      for (let nth = 0; nth <= CHANGES_A_DAY; nth++) {
        outcomes.push(admitted(sql, asking(`b${nth}`), 10 + nth));
        if (nth < CHANGES_A_DAY) unpin(sql, "edge-1", "machine.revoke", 10 + nth);
      }
      return [outcomes.slice(-2), usesOf(sql)];
    });
    expect(found).toEqual([[`pinned b${CHANGES_A_DAY - 1}`, "too often"], CHANGES_A_DAY]);
  });
});

describe("a pending machine", () => {
  /** Calls `act` when edge-1 has the key a, and the key b is pending for that name since the time 10. */
  const waiting = <Outcome>(name: string, act: (sql: SqlStorage) => Outcome) =>
    within(`waiting-${name}`, (sql) => {
      addToken(sql, "t1", { expiresInSeconds: 7 * 24 * 3600 });
      aHasIt(sql);
      admit(sql, asking("b"), 10);
      return act(sql);
    });

  it("asks again → pending since the first time, and logged once", async () => {
    const found = await waiting("again", (sql) => [
      admitted(sql, asking("b"), 20),
      listPending(sql, 20).map(({ askedAt }) => Date.parse(askedAt)),
      readAudit(sql, { by: "machines", limit: 10 }).filter(({ what }) => what === "machine.wait").length,
    ]);
    expect(found).toEqual(["pending", [10], 1]);
  });

  it("is listed with the present owner of the name", async () => {
    const [shown] = await waiting("shown", (sql) => listPending(sql, 20));
    expect(shown).toMatchObject({
      name: "edge-1",
      token: "t1",
      thumbprint: "b",
      machineID: "m-1",
      expiresAt: new Date(10 + PENDING_MS).toISOString(),
      pinned: { thumbprint: "a", hasReported: true, pinnedAt: new Date(5).toISOString() },
    });
  });

  it.each([
    ["a day less a moment", 10 + PENDING_MS - 1, "b", 1],
    ["a day", 10 + PENDING_MS, undefined, 0],
  ])("for %s", async (situation, nowMs, thumbprint, listed) => {
    const found = await waiting(situation, (sql) => [
      findPending(sql, "edge-1", "b", nowMs)?.thumbprint,
      listPending(sql, nowMs).length,
    ]);
    expect(found).toEqual([thumbprint, listed]);
  });

  it("is approved → has the name, is no longer pending, and the owner before is revoked", async () => {
    const found = await waiting("approved", (sql) => ({
      outcome: approvePending(sql, "edge-1", "b", 20),
      again: approvePending(sql, "edge-1", "b", 20).ok,
      buried: [isBuried(sql, "a"), isBuried(sql, "b")],
      used: usesOf(sql),
    }));
    const outcome = { ok: true, value: { thumbprint: "b", token: "t1", pinnedAtMs: 20 } };
    expect(found).toMatchObject({ outcome, again: false, buried: [true, false], used: 1 });
  });

  it.each<[string, Step]>([
    ["with another key", (sql) => approvePending(sql, "edge-1", "c", 20)],
    ["for another name", (sql) => approvePending(sql, "edge-2", "b", 20)],
    ["no longer, since a day is over", (sql) => approvePending(sql, "edge-1", "b", 10 + PENDING_MS)],
    [
      "with a key that lost another name",
      (sql) => {
        bury(sql, "edge-9", "b", 15, "rejected");
        return approvePending(sql, "edge-1", "b", 20);
      },
    ],
    [
      "and whose token was revoked",
      (sql) => (revokeToken(sql, "t1", 15), approvePending(sql, "edge-1", "b", 20)),
    ],
    [
      "and was rejected",
      (sql) => (rejectPending(sql, "edge-1", "b", 15), approvePending(sql, "edge-1", "b", 20)),
    ],
  ])("%s → not approved; the name stays whose it is", async (situation, approve) => {
    const found = await waiting(`not-${situation}`, (sql) => [
      approve(sql),
      findPin(sql, "edge-1")?.thumbprint,
    ]);
    expect(found).toMatchObject([{ ok: false }, "a"]);
  });

  it.each([
    ["its key", "b", true, true],
    ["another key", "c", false, false],
  ])("is rejected by %s", async (situation, thumbprint, rejected, buried) => {
    const found = await waiting(`rejected-${situation}`, (sql) => [
      rejectPending(sql, "edge-1", thumbprint, 20).ok,
      isBuried(sql, thumbprint),
      listPending(sql, 20).length,
    ]);
    expect(found).toEqual([rejected, buried, rejected ? 0 : 1]);
  });

  it("keeps the use of its token, which serves no other machine, and uses it alone once the name is free", async () => {
    const found = await waiting("use", (sql) => {
      const other = admitted(sql, asking("c"), 20);
      unpin(sql, "edge-1", "machine.revoke", 25);
      return [other, admitted(sql, asking("c"), 30), admitted(sql, asking("b"), 30)];
    });
    expect(found).toEqual(["refused", "refused", "pinned b"]);
  });

  it("with a token of two uses → no other machine is pending with it", async () => {
    const found = await within("waiting-two-uses", (sql) => {
      addToken(sql, "t1", { uses: 2 });
      aHasIt(sql);
      return [admitted(sql, asking("b")), admitted(sql, asking("c"))];
    });
    expect(found).toEqual(["pending", "full"]);
  });

  it("over the limit of pending machines → full; at the limit not", async () => {
    const found = await within("waiting-full", (sql) => {
      aHasIt(sql);
      return Array.from({ length: MAX_PENDING + 1 }, (_, nth) => {
        addToken(sql, `w${nth}`);
        return admitted(sql, asking(`b${nth}`, { token: `w${nth}` }));
      }).slice(-2);
    });
    expect(found).toEqual(["pending", "full"]);
  });
});

describe("the pin for a machine's object that was lost", () => {
  it.each<[string, Step, thumbprint: string, pinned: string | null]>([
    ["the machine's key → its pin", aHasIt, "a", "a"],
    [
      "its next key → the same pin",
      (sql) => {
        aHasIt(sql);
        const { generation } = findPin(sql, "edge-1")!;
        setNextKey(sql, { name: "edge-1", generation, thumbprint: "b" }, 7);
      },
      "b",
      "a",
    ],
    ["another machine's key → none", aHasIt, "b", null],
    [
      "a key that is refused for ever → none",
      (sql) => [aHasIt(sql), bury(sql, "x", "a", 7, "rejected")],
      "a",
      null,
    ],
    ["a revoked key → none", (sql) => [aHasIt(sql), unpin(sql, "edge-1", "machine.revoke", 7)], "a", null],
    [
      "a revoked pin whose key is not in the list of refused keys → none",
      (sql) => [aHasIt(sql), sql.exec("UPDATE pins SET revoked_at_ms = 7")],
      "a",
      null,
    ],
    ["a name without a machine → none", () => undefined, "a", null],
  ])("%s", async (situation, before, thumbprint, pinned) => {
    const found = await within(`lost-${situation}`, (sql) => {
      before(sql);
      const found = pinnedTo(sql, "edge-1", thumbprint, 10);
      return found && found.thumbprint;
    });
    expect(found).toBe(pinned);
  });
});

describe("while many machines enrol", () => {
  /** Returns turns of which none is left now. */
  function usedUp(nowMs = 10): Turns {
    const turns = new Turns();
    const ofToken = { token: "t9", unused: Infinity };
    for (let at = 0; at < RATE_LIMITS.enrolments.atOnce; at++) turns.take(`m-${at}`, nowMs, ofToken);
    return turns;
  }

  it("a new machine → waits for its turn: no use is counted, and its token is not used up", async () => {
    const found = await within("turn", (sql) => {
      addToken(sql, "t1");
      const turns = usedUp();
      const first = admit(sql, asking("b"), 10, turns);
      return {
        first,
        uses: usesOf(sql),
        pin: findPin(sql, "edge-1"),
        second: admit(sql, asking("b"), 1010, turns),
      };
    });
    expect(found).toMatchObject({
      first: { ok: false, error: { reason: "not its turn", waitSeconds: 1 } },
      uses: 0,
      pin: undefined,
      second: { ok: true },
    });
  });

  it("a machine that has enrolled, and a machine that must wait for an operator → no turn is needed", async () => {
    const found = await within("no turn", (sql) => {
      addToken(sql, "t1", { uses: 2 });
      addToken(sql, "t2");
      admit(sql, asking("b"), 10);
      const turns = usedUp();
      const outcomes = [
        admit(sql, asking("b"), 10, turns),
        admit(sql, asking("c", { token: "t2" }), 10, turns),
      ];
      return outcomes.map((outcome) => (outcome.ok ? "pinned" : outcome.error.reason));
    });
    expect(found).toEqual(["pinned", "pending"]);
  });

  it("a token's unused turns are as many as its uses: its holder invents keys → no machine with another token waits longer", async () => {
    const found = await within("invented keys", (sql) => {
      addToken(sql, "t1", { uses: 3 });
      addToken(sql, "t2");
      const turns = usedUp();
      const invented = Array.from({ length: 1000 }, (_, at) =>
        admit(sql, asking(`invented-${at}`), 10, turns),
      );
      const texts = invented.map((each) => !each.ok && "detail" in each.error && each.error.detail);
      return { texts: [...new Set(texts)], other: admit(sql, asking("b", { token: "t2" }), 10, turns) };
    });
    expect(found).toMatchObject({
      texts: [
        "About 1 s: 1 machine is ahead.",
        "About 1 s: 2 machines are ahead.",
        "About 1 s: 3 machines are ahead.",
        "About 60 s: other machines with this join token are ahead.",
      ],
      other: { error: { detail: "About 1 s: 4 machines are ahead." } },
    });
  });

  it("a machine whose use is counted → gets a turn, also if its token is used up", async () => {
    const found = await within("counted", (sql) => {
      addToken(sql, "t1", { uses: 1, expiresInSeconds: (2 * DAY_MS) / 1000 });
      admit(sql, asking("b"), 10);
      // The machine has not reported for a day, so that its name is free.
      const turns = usedUp(2 * DAY_MS - 5000);
      return [5000, 4000].map((leftMs) => admit(sql, asking("b"), 2 * DAY_MS - leftMs, turns));
    });
    expect(found).toMatchObject([{ error: { reason: "not its turn" } }, { ok: true }]);
  });

  it("a request of an earlier version of the Worker → enrols without a turn", async () => {
    expect(await within("earlier", (sql) => (addToken(sql, "t1"), admitted(sql, asking("b"))))).toBe(
      "pinned b",
    );
  });
});
