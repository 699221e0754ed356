// Tests which requests are fresh, and which show that a process runs in two places: single cases, then random
// sequences.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isDisputed } from "../../../shared/node/duplicate-senders.ts";
import {
  FreshRequests,
  offerTicket,
  type Tickets,
  useTicket,
} from "../../../worker/machine/fresh-requests.ts";
import { shift } from "../support/clock.ts";
import { CONFIRMATION_MS, type Delivery, Holder, OneObject, type Signed } from "../support/one-object.ts";

const LEASE_MS = 40_000;
const MINUTE_MS = 60_000;

/**
 * Returns the results of a sequence of requests. `a 1 x`: a request under ticket a, with number 1, by process x.
 * `+a`: ticket a is offered. `!a`: ticket a is offered in the answer to a late request.
 */
function sequence(text: string, everyMs = 0): string[] {
  const tickets: Tickets<string> = {};
  return text.split(", ").flatMap((word, index) => {
    const nowMs = index * everyMs;
    const [ticket = "", n, process] = word.split(" ");
    if (n === undefined) {
      const nonce = ticket.slice(1);
      const offered = offerTicket(tickets, nowMs, LEASE_MS, () => nonce, word.startsWith("!"));
      return offered === nonce ? [] : [`offers ${offered}`];
    }
    const use = { ticket, n: Number(n), body: word, ...(process === undefined ? {} : { process }) };
    const checked = useTicket(tickets, use, nowMs, LEASE_MS);
    if (checked.kind === "fresh") checked.remember("answer");
    const isSign = checked.kind === "stale" ? checked.isLate : checked.kind === "fresh" && checked.isFork;
    if (!isSign) return [checked.kind];
    return [checked.kind === "stale" ? "late" : "fork"];
  });
}

describe("a request", () => {
  it.each<[situation: string, words: string, outcomes: string]>([
    ["under a ticket that was never offered", "a 1 x", "stale"],
    ["under the ticket of the last answer", "+a, a 1 x, +b, b 1 x", "fresh fresh"],
    ["again", "+a, a 1 x, a 1 x", "fresh repeated"],
    ["with the next number, its answer being lost", "+a, a 1 x, +b, a 2 x, b 1 x", "fresh fresh fresh"],
    ["that was under way while its process sent the next one", "+a, a 2 x, a 1 x", "fresh late"],
    [
      "under a ticket from before the one that its process used",
      "+a, a 1 x, +b, b 1 x, a 2 x",
      "fresh fresh late",
    ],
    ["under an unknown ticket, its process having used one", "+a, a 1 x, z 1 x", "fresh late"],
    ["under no ticket, of a new process", "+a, a 1 x, z 1 y", "fresh stale"],
    ["under a ticket that another process uses", "+a, a 1 x, a 2 y", "fresh stale"],
    ["of another program", "+a, a 1 x, z 1, +b, b 1, +c, c 1 x", "fresh stale fresh fresh"],
    ["with the ticket that a late one was answered with", "+a, a 1 x, z 1 x, !c, c 1 x", "fresh late fork"],
    [
      "the same, after the machine went on",
      "+a, a 1 x, +b, z 1 x, !c, b 1 x, c 1000 x",
      "fresh late fresh fork",
    ],
    [
      "and its process goes on with it",
      "+a, a 1 x, z 1 x, !c, c 1 x, c 2 x, +d, d 1 x",
      "fresh late fork fresh fresh",
    ],
    [
      "under a ticket from before the one that a late one was answered with",
      "+a, a 1 x, +b, z 1 x, !c, c 1 x, b 1 x",
      "fresh late fork late",
    ],
    [
      "whose double has counted from 1000",
      "+a, a 1 x, +b, b 1000 x, b 1 x, !c, c 1 x",
      "fresh fresh late fork",
    ],
    ["with a number below 1", "+a, a 0 x", "stale"],
  ])("%s", (_, words, outcomes) => {
    expect(sequence(words).join(" ")).toBe(outcomes);
  });

  it.each<[situation: string, words: string, everyMs: number, outcomes: string]>([
    ["just as late as its ticket is good", "+a, a 1 x", LEASE_MS, "fresh"],
    ["a moment later: not a sign, its machine was silent", "+a, a 1 x", LEASE_MS + 1, "stale"],
    ["a lease duration after the machine's last one", "+a, a 1 x, a 2 x", LEASE_MS, "fresh stale"],
    [
      "as late, its process having used a later one",
      "+a, a 1 x, +b, b 1 x, a 2 x",
      15_000,
      "fresh fresh late",
    ],
  ])("%s", (_, words, everyMs, outcomes) => {
    expect(sequence(words, everyMs).join(" ")).toBe(outcomes);
  });
});

describe("a ticket is offered again while it is unused and young", () => {
  it.each<[string, string, number, string]>([
    ["for just less than half a lease duration", "+a, +b", LEASE_MS / 2 - 1, "offers a"],
    ["and not for longer", "+a, +b", LEASE_MS / 2, ""],
    ["to everybody", "+a, +b, b 1 x, a 1 x", 100, "offers a stale fresh"],
    [
      "to signers of late requests: another one",
      "+a, a 1 x, z 1 x, !c, !d, +b, b 1 x, c 1 x",
      100,
      "fresh late offers c fresh fork",
    ],
  ])("%s", (_, words, everyMs, outcomes) => {
    expect(sequence(words, everyMs).join(" ")).toBe(outcomes);
  });

  it("many unused tickets → limited in number, and a request with one of the first is not late", () => {
    const words = ["+a", "a 1 x", ..."bcdefghijk".split("").map((nonce) => `+${nonce}`), "b 1 x", "k 1 x"];
    expect(sequence(words.join(", "), LEASE_MS / 2)).toEqual(["fresh", "stale", "fresh"]);
  });
});

describe("a loan that returns the tickets", () => {
  const use = (ticket: string, n: number, process?: string) => ({
    ticket,
    n,
    body: `${ticket} ${n}`,
    ...(process !== undefined && { process }),
  });
  const answered = (requests: FreshRequests, request: ReturnType<typeof use>) => {
    const used = requests.use(request);
    if ("remember" in used) used.remember(Promise.resolve(null as never));
    return used.kind;
  };

  /** Returns an object that has lent the lease after a report, and the ticket that the machine has. */
  function lent() {
    const requests = new FreshRequests(() => LEASE_MS);
    const first = requests.offerTicket();
    answered(requests, use(first, 1, "x"));
    return { requests, ticket: requests.offerTicket(), loan: requests.handOver() };
  }

  it("to an object that was evicted → the machine's next report is fresh, also long after the loan began", () => {
    const { ticket, loan } = lent();
    shift(5 * MINUTE_MS);
    const woken = new FreshRequests(() => LEASE_MS);
    woken.takeBack(structuredClone(loan), Date.now() - 1000);
    expect(answered(woken, use(ticket, 1, "x"))).toBe("fresh");
  });

  it("to an object that answered a request over HTTP meanwhile → that request is not fresh again", () => {
    const { requests, ticket, loan } = lent();
    expect(answered(requests, use(ticket, 1))).toBe("fresh");
    requests.takeBack(structuredClone(loan), Date.now());
    expect(answered(requests, use(ticket, 1))).toBe("repeated");
    expect(answered(requests, { ...use(ticket, 1), body: "another" })).toBe("stale");
  });

  it("to an object that was evicted and answered a request since → that request is not fresh again", () => {
    const { loan } = lent();
    const woken = new FreshRequests(() => LEASE_MS);
    const offered = woken.offerTicket();
    expect(answered(woken, use(offered, 1))).toBe("fresh");
    woken.takeBack(structuredClone(loan), Date.now());
    expect(answered(woken, use(offered, 1))).toBe("repeated");
  });

  it("after heartbeats, and a ticket for another request → the machine's ticket is still valid", () => {
    const { requests, ticket, loan } = lent();
    shift(MINUTE_MS);
    requests.offerTicket();
    requests.takeBack(structuredClone(loan), Date.now() - 1000);
    expect(answered(requests, use(ticket, 1, "x"))).toBe("fresh");
  });
});

const deliveries = fc.array(
  fc.constantFrom<Delivery>("whole", "whole", "twice", "request lost", "answer lost", "request late"),
  { maxLength: 3 },
);

/** Generates the events that may happen to one machine, or to its node object. */
const happening = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("report" as const), deliveries }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("time" as const), ms: fc.integer({ min: 0, max: 60_000 }) }),
  },
  fc.record({
    kind: fc.constantFrom("restart" as const, "reboot" as const, "evict" as const, "facts" as const),
  }),
  fc.record({ kind: fc.constantFrom("late" as const, "replay" as const), which: fc.nat() }),
);
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

/** A machine with one process of the shim at a time. */
class Machine {
  readonly object = new OneObject();
  process = new Holder("start 0", "boot 0");
  facts = "facts 0";
  readonly sent: Signed[] = [];
  readonly #late: Signed[] = [];
  #count = 0;

  /** Applies one event. The machine ignores an answer that arrives after the request's deadline. */
  happen(what: Happening): void {
    const { object, sent } = this;
    const late = this.#late;
    if (what.kind === "report") this.process.report(object, this.facts, what.deliveries, sent, late);
    else if (what.kind === "time") object.nowMs += what.ms;
    else if (what.kind === "evict") object.evict();
    else if (what.kind === "facts") this.facts = `facts ${++this.#count}`;
    else if (what.kind === "late")
      late.splice(what.which % (late.length || 1), 1).forEach((signed) => object.handle(signed));
    else if (what.kind === "replay" && sent.length > 0) object.handle(sent[what.which % sent.length]!);
    else if (what.kind === "restart" || what.kind === "reboot") this.#startAgain(what.kind);
  }

  /** Starts the shim again. The service waits ten seconds before a restart. */
  #startAgain(how: "restart" | "reboot"): void {
    this.object.nowMs += 10_000;
    const bootID = how === "reboot" ? `boot ${++this.#count}` : this.process.bootID;
    this.process = new Holder(`start ${++this.#count}`, bootID);
  }
}

it("one machine with any lost packets, restarts, reboots and evictions → never a sign of another; its facts arrive", () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 60 }), (story) => {
      const machine = new Machine();
      for (const what of story) {
        machine.happen(what);
        const { senders, nowMs } = machine.object;
        expect(senders.double).toBeUndefined();
        expect(isDisputed(senders, nowMs)).toBe(false);
      }
      // The facts are applied after two undisturbed reports at most.
      for (let beat = 0; beat < 2; beat++) {
        machine.object.nowMs += CONFIRMATION_MS;
        machine.happen({ kind: "report", deliveries: [] });
      }
      expect(machine.object.steps.at(-1)).toBe("apply");
      expect(machine.object.facts).toBe(machine.facts);
    }),
    { numRuns: 2000 },
  );
});

describe("a machine and a second sender with its key, in turns,", () => {
  /**
   * Generates rounds of two reports, with the time and the loss before each report. The node object is evicted after
   * some rounds.
   */
  const rounds = fc.array(
    fc.record({
      ms: fc.tuple(fc.integer({ min: 0, max: MINUTE_MS }), fc.integer({ min: 0, max: MINUTE_MS })),
      noise: fc.tuple(deliveries, deliveries),
      evicted: fc.boolean(),
    }),
    { minLength: 4, maxLength: 4 },
  );
  const second = fc.constantFrom<[string, (machine: Machine, round: number) => Holder]>(
    ["its process", ({ process }) => new Holder(process.startId, process.bootID, "", 1000)],
    [
      "its process and memory",
      ({ process: { startId, bootID, ticket, n } }) => new Holder(startId, bootID, ticket, n),
    ],
    [
      "its process, n ahead",
      ({ process }) => new Holder(process.startId, process.bootID, process.ticket, 1000),
    ],
    ["a process of its own", () => new Holder("stolen", "boot 0")],
    ["another process each time", (_, round) => new Holder(`stolen ${round}`, "boot 0")],
    ["another boot each time", (_, round) => new Holder(`stolen ${round}`, `stolen ${round}`)],
  );

  it("with any process ID and any loss → a phase after four rounds", () => {
    fc.assert(
      fc.property(rounds, second, fc.boolean(), (played, [, make], keeps) => {
        const machine = new Machine();
        machine.happen({ kind: "report", deliveries: [] });
        let thief = make(machine, 0);
        for (const [round, { ms, noise, evicted }] of played.entries()) {
          if (!keeps) thief = make(machine, round);
          for (const [at, holder] of [thief, machine.process].entries()) {
            machine.object.nowMs += ms[at]!;
            holder.report(machine.object, `${at}`, noise[at]!, machine.sent, []);
            holder.report(machine.object, `${at}`, [], machine.sent, []);
          }
          if (evicted) machine.object.evict();
        }
        expect(machine.object.senders.double).toBeDefined();
      }),
      { numRuns: 2000 },
    );
  });
});
