// Tests the cluster token in a node object's memory: which token the object uses, and when it requests another token.
import { describe, expect, it } from "vitest";
import { HeldToken, type KnownToken } from "../../../../worker/kube/token.ts";
import { tokenOf } from "../../support/account-tokens.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SECRET = tokenOf(0, 8 * HOUR_MS, "secret");
const SECOND = tokenOf(4 * HOUR_MS, 8 * HOUR_MS, "second");
const THIRD = tokenOf(8 * HOUR_MS, 8 * HOUR_MS, "third");

/**
 * Returns a held token. `answers`: the tokens that the cluster object returns, in turn; the last one is repeated.
 */
function held({ secret = SECRET, answers = [SECRET], random = 0, known = {} }: Partial<Situation> = {}) {
  const asked: (string | undefined)[] = [];
  const left = [...answers];
  const object = { nowMs: 0, asked, token: undefined as unknown as HeldToken };
  object.token = new HeldToken({
    secret,
    ask: (refused) => {
      asked.push(refused);
      const answer = left.length > 1 ? left.shift()! : left[0]!;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    known,
    timer: undefined,
    nowMs: () => object.nowMs,
    random: () => random,
  });
  return object;
}

type HeldObject = ReturnType<typeof held>;

interface Situation {
  secret: string;
  answers: (string | Error | null)[];
  random: number;
  known: KnownToken;
}

describe("a heartbeat requests a token", () => {
  it.each<[string, number, number, number]>([
    ["never, in the first half of the token's life", 4 * HOUR_MS - 1, 0, 0],
    ["the cluster's object, from its half on", 4 * HOUR_MS, 0, 1],
    ["not yet, if others request before", 4 * HOUR_MS, 0.5, 0],
    ["later than others, at the time that chance gave it", 4.5 * HOUR_MS, 0.5, 1],
    ["all the same, when an eighth of the life is over", 5 * HOUR_MS, 0.999, 1],
    ["also after the end", 9 * HOUR_MS, 0, 1],
  ])("%s", async (_, nowMs, random, times) => {
    const object = held({ random });
    object.nowMs = nowMs;
    await object.token.refresh(false);
    expect(object.asked).toHaveLength(times);
  });

  it("never while the token is in the first half of its life, then its successor", async () => {
    const object = held({ answers: [SECOND, THIRD] });
    object.nowMs = 4 * HOUR_MS;
    await object.token.refresh(false);
    expect(object.token.current()).toBe(SECOND);
    for (object.nowMs = 5 * HOUR_MS; object.nowMs < 8 * HOUR_MS; object.nowMs += 9_600)
      await object.token.refresh(false);
    expect(object.asked).toHaveLength(1);
    object.nowMs = 8 * HOUR_MS;
    await object.token.refresh(false);
    expect(object.token.current()).toBe(THIRD);
    expect(object.asked).toHaveLength(2);
  });

  it.each<[string, number, number]>([
    ["within a minute → not again", MINUTE_MS - 1, 1],
    ["after a minute → again", MINUTE_MS, 2],
    ["with a clock that was put back by less → not again", 1 - MINUTE_MS, 1],
    ["with a clock that was put back by more → again", -MINUTE_MS, 2],
  ])("while there is no newer token, %s", async (_, laterMs, times) => {
    const object = held();
    object.nowMs = 5 * HOUR_MS;
    await object.token.refresh(false);
    object.nowMs += laterMs;
    await object.token.refresh(false);
    expect(object.asked).toHaveLength(times);
  });

  it("when the shim starts, so that the token's end is known early", async () => {
    const object = held();
    await object.token.refresh(true);
    expect(object.asked).toEqual([undefined]);
  });

  it.each([
    ["is no JWT", "opaque"],
    ["has no end", tokenOf(0, Number.NaN)],
  ])("nobody, whatever happens, for a secret that %s", async (_, secret) => {
    const object = held({ secret, answers: [SECOND] });
    object.nowMs = 9 * HOUR_MS;
    await object.token.refresh(true);
    expect(await object.token.instead(secret)).toBeNull();
    expect(object.token.current()).toBe(secret);
    expect(object.asked).toEqual([]);
  });
});

describe("the token of a request is", () => {
  it.each<[string, number, string]>([
    ["the renewed one, until it ends", 12 * HOUR_MS - 1, SECOND],
    ["the secret, from then on", 12 * HOUR_MS, SECRET],
  ])("%s", async (_, nowMs, token) => {
    const object = held({ answers: [SECOND] });
    object.nowMs = 4 * HOUR_MS;
    await object.token.refresh(false);
    object.nowMs = nowMs;
    expect(object.token.current()).toBe(token);
  });

  it.each<[string, number, string, boolean]>([
    ["has not ended before its time", 8 * HOUR_MS - 1, SECRET, false],
    ["has ended at its time", 8 * HOUR_MS, SECRET, true],
    ["has no end that is known", 8 * HOUR_MS, "opaque", false],
  ])("one that %s", (_, nowMs, secret, hasEnded) => {
    const object = held({ secret });
    object.nowMs = nowMs;
    expect(object.token.hasEnded()).toBe(hasEnded);
  });

  it.each<[string, string | Error | null]>([
    ["has another secret", null],
    ["fails", new Error("overloaded")],
    ["has nothing newer", SECRET],
  ])("the one at hand, where the cluster's object %s", async (_, answer) => {
    const object = held({ answers: [answer] });
    object.nowMs = 5 * HOUR_MS;
    await object.token.refresh(false);
    expect(object.token.current()).toBe(SECRET);
  });
});

describe("after a 401", () => {
  it("another token is requested, and used from then on", async () => {
    const object = held({ answers: [SECOND] });
    expect(await object.token.instead(SECRET)).toBe(SECOND);
    expect([object.token.current(), object.asked]).toEqual([SECOND, [SECRET]]);
  });

  it("of a renewed token → the secret is used again, and each request names the refused token", async () => {
    const object = held({ answers: [SECOND, SECRET] });
    object.nowMs = 4 * HOUR_MS;
    await object.token.refresh(false);
    object.nowMs += MINUTE_MS;
    expect(await object.token.instead(SECOND)).toBe(SECRET);
    object.nowMs += MINUTE_MS;
    await object.token.refresh(false);
    expect(object.asked).toEqual([undefined, SECOND, SECOND]);
  });

  it("and the cluster object has no token → requested once a minute, not with each request", async () => {
    const object = held();
    for (object.nowMs = 0; object.nowMs < 2 * MINUTE_MS; object.nowMs += 1000)
      expect(await object.token.instead(SECRET)).toBeNull();
    expect(object.asked).toHaveLength(2);
  });

  it("a newer token is in memory already → no request", async () => {
    const object = held({ answers: [SECOND] });
    const [first, second] = await Promise.all([object.token.instead(SECRET), object.token.instead(SECRET)]);
    expect([first, second, await object.token.instead(SECRET)]).toEqual([SECOND, SECOND, SECOND]);
    expect(object.asked).toHaveLength(1);
  });
});

describe("the objects of one isolate", () => {
  const objects = (count: number, situation: Partial<Situation>) => {
    const known = {};
    return Array.from({ length: count }, () => held({ ...situation, known }));
  };
  const askedBy = (all: readonly { asked: unknown[] }[]) => all.map(({ asked }) => asked.length);

  it("wake after half of the token's life → one request, and all use its token", async () => {
    const all = objects(20, { answers: [SECOND] });
    for (const object of all) {
      object.nowMs = 5 * HOUR_MS;
      await object.token.refresh(false);
    }
    expect(askedBy(all)).toEqual([1, ...Array.from({ length: 19 }, () => 0)]);
    expect(all.every(({ token }) => token.current() === SECOND)).toBe(true);
  });

  it("of machines whose shims start → one request", async () => {
    const all = objects(3, {});
    for (const { token } of all) await token.refresh(true);
    expect(askedBy(all)).toEqual([1, 0, 0]);
  });

  it("while the cluster object fails → one request a minute", async () => {
    const all = objects(3, { answers: [new Error("overloaded")] });
    for (let nowMs = 5 * HOUR_MS; nowMs < 5 * HOUR_MS + 2 * MINUTE_MS; nowMs += 10_000)
      for (const object of all) {
        object.nowMs = nowMs;
        await object.token.refresh(false);
      }
    expect(askedBy(all)).toEqual([2, 0, 0]);
  });

  it("get a 401 after another one → use that one's token, without a request", async () => {
    const [first, second] = objects(2, { answers: [SECOND] }) as [HeldObject, HeldObject];
    expect(await first.token.instead(SECRET)).toBe(SECOND);
    expect([await second.token.instead(SECRET), second.asked]).toEqual([SECOND, []]);
  });

  it("get a 401 at once → each requests, because no object can wait for another's request", async () => {
    const all = objects(2, { answers: [SECOND] });
    expect(await Promise.all(all.map(({ token }) => token.instead(SECRET)))).toEqual([SECOND, SECOND]);
    expect(askedBy(all)).toEqual([1, 1]);
  });
});
