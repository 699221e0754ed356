import { describe, expect, it } from "vitest";
import { failure, type Result, success } from "../../../../shared/result.ts";
import type { SendRequest, RequestFault } from "../../../../infra/page/base/api.ts";
import { type Session, sessionStore } from "../../../../infra/page/live/session.ts";

const ANN = { who: "operator ann", role: "admin", by: "session" as const, expiresAt: null };
const WAYS = { secret: true, access: false };
const IN = success({ operator: ANN, ways: WAYS });
const OUT = success({ operator: null, ways: WAYS });
const NOW_MS = Date.UTC(2026, 0, 1);
const until = (ms: number) =>
  success({ operator: { ...ANN, expiresAt: new Date(ms).toISOString() }, ways: WAYS });
const faultOf = (reason: string): RequestFault => ({ reason, message: "no", status: 403 });

/** Returns a session store whose requests get these answers, in this order. */
const storeOf = (...answers: Result<object, RequestFault>[]) => storeWith(answers);
function storeWith(answers: Result<object, RequestFault>[]) {
  const asked: string[] = [];
  const ask = ((method, path) => {
    asked.push(`${method} ${path}`);
    return Promise.resolve(answers.shift() ?? failure(faultOf("no-answer")));
  }) as SendRequest;
  return { store: sessionStore(ask, () => NOW_MS), asked };
}

describe("somebody has signed in, and it is asked again →", () => {
  it.each<[answer: string, Result<object, RequestFault>, Session["kind"]]>([
    ["the same", IN, "in"],
    ["nobody any more", OUT, "out"],
    ["no answer: what is on the screen stays", failure(faultOf("no-answer")), "in"],
    ["refused", failure(faultOf("forbidden")), "unknown"],
  ])("%s", async (_, answer, kind) => {
    const { store, asked } = storeOf(IN, answer);
    await store.refresh();
    await store.refresh();
    expect(store.session.value.kind).toBe(kind);
    expect(asked).toEqual(["GET /v1/session", "GET /v1/session"]);
  });

  it("whoever is the same is not drawn anew", async () => {
    const { store } = storeOf(IN, IN);
    await store.refresh();
    const before = store.session.value;
    await store.refresh();
    expect(store.session.value).toBe(before);
  });
});

it.each([undefined, "https://docs.example.com"])("the address of the documentation is %s", async (docs) => {
  const { store } = storeOf(success({ operator: ANN, ways: WAYS, ...(docs && { docs }) }));
  await store.refresh();
  expect(store.docs()).toBe(docs);
});

it.each<[role: string, mayAsk: boolean]>([
  ["view", false],
  ["operator", true],
  ["admin", true],
])("the role %s may ask machines: %s", async (role, mayAsk) => {
  const { store } = storeOf(success({ operator: { ...ANN, role }, ways: WAYS }));
  await store.refresh();
  expect(store.mayAsk()).toBe(mayAsk);
});

it.each<[selector: string | undefined, settings: string | null]>([
  [undefined, null],
  ["site=berlin", "this request concerns the whole deployment"],
])("the selector %s → the routes of the whole deployment are refused: %s", async (selector, settings) => {
  const { store } = storeOf(success({ operator: { ...ANN, ...(selector && { selector }) }, ways: WAYS }));
  await store.refresh();
  expect([store.refusal("GET /v1/settings"), store.refusal("GET /v1/rollout")]).toEqual([settings, null]);
});

it("a secret that is refused → said, and nobody is asked who looks", async () => {
  const { store, asked } = storeOf(failure(faultOf("forbidden")));
  expect(await store.signIn({ secret: "guessed" })).toMatchObject({ ok: false });
  expect(asked).toEqual(["POST /v1/session"]);
});

it.each<[string, Result<object, RequestFault>[], "signOut" | "refresh", string | null]>([
  ["the page had no session", [OUT, OUT], "refresh", null],
  ["the operator signed out here", [IN, success({}), OUT], "signOut", "left"],
  ["it expires in a millisecond, and is gone", [until(NOW_MS + 1), OUT], "refresh", "ended"],
  ["it expires now", [until(NOW_MS), OUT], "refresh", "expired"],
  ["it was ended elsewhere", [IN, OUT], "refresh", "ended"],
  ["it was ended elsewhere, and is requested again", [IN, OUT, OUT], "refresh", "ended"],
])("no session: %s → the reason", async (_, answers, act, why) => {
  const left = [...answers];
  const { store } = storeWith(left);
  await store.refresh();
  await store[act]();
  while (left.length > 0) await store.refresh();
  expect(store.session.value).toMatchObject({ kind: "out", why });
});
