// Tests when a machine opens a socket, and when it keeps using HTTP: the next state for each event.
import { describe, expect, it, test } from "vitest";
import {
  afterAcceptance,
  afterAnswer,
  afterDrop,
  afterLoss,
  afterOffer,
  afterOpening,
  isSocketWanted,
  type LinkState,
  NO_SOCKET,
  type SocketLoss,
  whenDue,
} from "../../../../node-shim/worker-link/link.ts";

const NOW = 1_000_000;
const MINUTE = 60_000;
const OFFER = { path: "/v1/gateways/7/nodes/edge-1?t=1", withinMs: 2000 };
const loss = (more: Partial<SocketLoss> = {}): SocketLoss => ({
  why: "it was closed",
  comeBackInMs: 0,
  isPlanned: false,
  ...more,
});
/** A state without a socket, after an attempt to open one. */
const TRIED: LinkState = { ...NO_SOCKET, comeBackWithinMs: 0 };
const opening: LinkState = { ...TRIED, socket: "opening" };
const open = afterOpening(opening, NOW);
const accepted = afterAcceptance(open, 30_000);
/** Returns the state of a socket whose last answer came `ms` after its opening. */
const servedFor = (ms: number) => afterAnswer(accepted, NOW + ms);

describe("an offer → when to open a socket", () => {
  test.each<[situation: string, state: LinkState, withinMs: number, random: number, inMs: number]>([
    ["the first one, at the earliest", NO_SOCKET, 2000, 0, 0],
    ["the first one, within the Worker's time", NO_SOCKET, 2000, 0.5, 1000],
    ["the first one, at the latest", NO_SOCKET, 2000, 1, 2000],
    ["a later one, within 5 s at least", TRIED, 2000, 1, 5000],
    ["a later one, at the earliest", TRIED, 2000, 0, 0],
    ["within the offer's time, if that is longer", TRIED, 8000, 1, 8000],
    ["within the gateway's last time", { ...TRIED, comeBackWithinMs: 30_000 }, 8000, 1, 30_000],
    ["never beyond the ticket's life", { ...TRIED, comeBackWithinMs: 3_600_000 }, 8000, 1, 100_000],
  ])("%s", (_, state, withinMs, random, inMs) => {
    const { due } = afterOffer(state, { ...OFFER, withinMs }, NOW, random);
    expect(due).toEqual({ path: OFFER.path, offeredAtMs: NOW, atMs: NOW + inMs });
  });

  it("another offer before that time → the newer path, at the same time", () => {
    const first = afterOffer(TRIED, OFFER, NOW, 1);
    const second = afterOffer(first, { ...OFFER, path: "/newer" }, NOW + 3000, 0);
    expect(second.due).toEqual({ path: "/newer", offeredAtMs: NOW + 3000, atMs: NOW + 5000 });
  });

  it("an answer without an offer → it is not opened", () => {
    expect(afterOffer(afterOffer(TRIED, OFFER, NOW, 1), undefined, NOW, 1).due).toBeNull();
  });

  test.each<[string, LinkState]>([
    ["while one opens", opening],
    ["while one is open", open],
    ["before the time", { ...TRIED, notBeforeMs: NOW + 1 }],
  ])("%s → neither requested nor accepted", (_, state) => {
    expect(isSocketWanted(state, NOW)).toBe(false);
    expect(afterOffer(state, OFFER, NOW, 0)).toBe(state);
  });

  it("requested from the first report on, and again when it is time", () => {
    expect(isSocketWanted(NO_SOCKET, NOW)).toBe(true);
    expect(isSocketWanted({ ...TRIED, notBeforeMs: NOW }, NOW)).toBe(true);
  });
});

describe("the time has come", () => {
  const due = afterOffer(NO_SOCKET, OFFER, NOW, 1);
  test.each<[string, LinkState, atMs: number, LinkState["socket"]]>([
    ["in time → opened", due, NOW + 2000, "opening"],
    ["while its ticket lasts → opened", due, NOW + 100_000, "opening"],
    ["later, as after a suspend → the next offer counts", due, NOW + 100_001, "none"],
    ["none is due → none", NO_SOCKET, NOW, "none"],
  ])("%s", (_, state, atMs, socket) => {
    expect(whenDue(state, atMs)).toMatchObject({ socket, due: null });
  });

  it("the first attempt has ended then: the next one has the longer window", () => {
    const lost = afterLoss(whenDue(due, NOW), loss(), NOW, 0);
    expect(afterOffer(lost, OFFER, NOW, 1).due?.atMs).toBe(NOW + 5000);
  });
});

describe("a loss → the number of failures in a row, and the time of the next socket", () => {
  const failing = (failures: number, state = opening): LinkState => ({ ...state, failures });
  test.each<
    [
      situation: string,
      state: LinkState,
      loss: SocketLoss,
      afterMs: number,
      expected: [failures: number, leastMs: number, mostMs: number],
    ]
  >([
    ["refused", failing(0), loss(), 0, [1, 0, 0]],
    ["refused, the second time", failing(1), loss(), 0, [2, 0, 0]],
    ["refused, the third time → 10 to 15 minutes", failing(2), loss(), 0, [3, 600_000, 900_000]],
    ["and each time after that", failing(7), loss(), 0, [8, 600_000, 900_000]],
    ["open, no report accepted", failing(2, open), loss(), 9 * MINUTE, [3, 600_000, 900_000]],
    [
      "answered for a minute, no report accepted",
      failing(2, afterAnswer(open, NOW + MINUTE)),
      loss(),
      MINUTE,
      [3, 600_000, 900_000],
    ],
    [
      "answered for less than a minute",
      failing(2, servedFor(MINUTE - 1)),
      loss(),
      9 * MINUTE,
      [3, 600_000, 900_000],
    ],
    ["answered for a minute → none has failed", failing(2, servedFor(MINUTE)), loss(), MINUTE, [0, 0, 0]],
    [
      "accepted, and cut before the next one was due, five minutes later",
      failing(2, accepted),
      loss(),
      4 * MINUTE,
      [3, 600_000, 900_000],
    ],
    ["Retry-After → no sooner", failing(0), loss({ comeBackInMs: 30_000 }), 0, [1, 30_000, 30_000]],
    [
      "Retry-After beyond 10 minutes",
      failing(2),
      loss({ comeBackInMs: 3_600_000 }),
      0,
      [3, 3_600_000, 3_600_000],
    ],
    [
      "closed by the gateway after a day",
      servedFor(1440 * MINUTE),
      loss({ comeBackInMs: 600_000 }),
      1440 * MINUTE,
      [0, 600_000, 600_000],
    ],
    ["to move, at once → no failure", failing(2, accepted), loss({ isPlanned: true }), 0, [2, 0, 0]],
    ["to move, after failures → at once", failing(3, accepted), loss({ isPlanned: true }), 0, [3, 0, 0]],
  ])("%s", (_, state, lost, afterMs, [failures, leastMs, mostMs]) => {
    const nowMs = NOW + afterMs;
    for (const [random, inMs] of [
      [0, leastMs],
      [1, mostMs],
    ] as const)
      expect(afterLoss(state, lost, nowMs, random)).toMatchObject({
        socket: "none",
        due: null,
        fault: "it was closed",
        failures,
        notBeforeMs: nowMs + inMs,
      });
  });

  it("the gateway's last time is kept for the next one", () => {
    const lost = afterLoss(accepted, loss(), NOW, 0);
    expect(afterOffer(lost, OFFER, NOW, 1).due?.atMs).toBe(NOW + 30_000);
  });

  it("accepted → no current fault, though only a lasting socket resets the count", () => {
    expect(afterAcceptance({ ...open, fault: "HTTP 403", failures: 2 }, 5000)).toMatchObject({
      fault: null,
      failures: 2,
    });
  });

  it("dropped by this machine → no failure, and requested at once", () => {
    const dropped = afterDrop({ ...accepted, failures: 2 });
    expect(dropped).toMatchObject({ socket: "none", failures: 2, due: null });
    expect(isSocketWanted(dropped, NOW)).toBe(true);
  });
});
