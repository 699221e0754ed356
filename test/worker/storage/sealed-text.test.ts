// Tests that a stored token is useless without the secret.
import { expect, it, test } from "vitest";
import { sealer } from "../../../worker/storage/sealed-text.ts";
import { tokenChainId } from "../../../worker/kube/connect.ts";

const ORIGIN = { KUBE_TOKEN: "a secret", KUBE_URL: "https://kube.test", DEPLOYMENT: "rollcall" };

it("a sealed text opens with the same secret and the same chain, and does not contain the token", async () => {
  const { seal } = await sealer("a secret", "a chain");
  const { open } = await sealer("a secret", "a chain");
  const [sealed, again] = [await seal("a token"), await seal("a token")];
  expect([await open(sealed), await open(again)]).toEqual(["a token", "a token"]);
  expect(sealed).not.toBe(again);
  expect(sealed).not.toContain(btoa("a token").replaceAll("=", ""));
});

test.each([
  ["another secret", "another secret", "a chain", (sealed: string) => sealed],
  ["another chain", "a secret", "another chain", (sealed: string) => sealed],
  [
    "a byte of it changed",
    "a secret",
    "a chain",
    (sealed: string) => `${sealed[0] === "A" ? "B" : "A"}${sealed.slice(1)}`,
  ],
  ["its end cut off", "a secret", "a chain", (sealed: string) => sealed.slice(0, -4)],
  ["nothing of it", "a secret", "a chain", () => ""],
  ["no base64url", "a secret", "a chain", () => "!"],
])("%s → nothing", async (_, secret, chain, change) => {
  const sealed = await (await sealer("a secret", "a chain")).seal("a token");
  expect(await (await sealer(secret, chain)).open(change(sealed))).toBeNull();
});

test.each<[string, Partial<typeof ORIGIN>]>([
  ["another secret", { KUBE_TOKEN: "another" }],
  ["another cluster", { KUBE_URL: "https://other.test" }],
  ["another deployment", { DEPLOYMENT: "east" }],
  ["the same letters at another place", { KUBE_URL: "https://kube.testroll", DEPLOYMENT: "call" }],
])("%s → another chain", async (_, more) => {
  const [id, other] = [await tokenChainId(ORIGIN), await tokenChainId({ ...ORIGIN, ...more })];
  expect([id.length, id === (await tokenChainId({ ...ORIGIN })), other === id]).toEqual([43, true, false]);
});
