// Tests which operators' credentials the cache keeps, and for how long.
import { base64url } from "jose";
import { expect, it } from "vitest";
import { type Credential, credentialOf, isGood } from "../../../worker/identity/operator.ts";
import { digestOf } from "../../../worker/identity/jwt.ts";

const [admin, view, named] = await Promise.all(["a", "v", "n"].map(digestOf));
const ENV = {
  ACCESS_TEAM: "team",
  ACCESS_AUD: "aud",
  ADMIN_SECRET_SHA256: `${base64url.encode(new Uint8Array(32))} ${admin}`,
  VIEW_SECRET_SHA256: view!,
};
const keepers = (role: string) => ({
  operatorWith: async (sha256: string) => (sha256 === named ? { role } : null),
  sessionWith: async (id: string) => (id === "there" ? {} : null),
});

const cases: [situation: string, credential: Credential, env: object, role: string, good: boolean][] = [
  ["the second admin secret", { sha256: admin! }, {}, "", true],
  ["the view secret", { sha256: view! }, {}, "", true],
  ["a secret that was replaced", { sha256: view! }, { VIEW_SECRET_SHA256: "" }, "", false],
  ["an operator's own", { sha256: named! }, {}, "view", true],
  ["one who may read metrics alone", { sha256: named! }, {}, "metrics", false],
  ["of a removed operator", { sha256: "x" }, {}, "view", false],
  ["a session that is there", { session: "there" }, {}, "", true],
  ["a session that has ended", { session: "ended" }, {}, "", false],
  ["an assertion until now", { untilMs: 1000 }, {}, "", false],
  ["an assertion until later", { untilMs: 1001 }, {}, "", true],
  ["an assertion where Access is off", { untilMs: 1001 }, { ACCESS_TEAM: "" }, "", false],
];
it.each(cases)("%s → %5$s", async (_, credential, env, role, good) => {
  expect(await isGood(credential, undefined, { ...ENV, ...env }, 1000, keepers(role))).toBe(good);
});

it.each<[string, Credential, string | undefined, boolean]>([
  ["of the same machines", { sha256: "x" }, "site=a", true],
  ["of all machines, by now of some", { sha256: "x" }, undefined, false],
  ["of some machines, by now of others", { sha256: "x" }, "site=b", false],
  ["a session of the same machines", { session: "x" }, "site=a", true],
  ["a session of other machines", { session: "x" }, "site=b", false],
  ["the admin secret, which has no selector", { sha256: admin! }, "site=a", false],
])("%s → %4$s", async (_, credential, selector, good) => {
  const found = () => Promise.resolve({ role: "view", selector: "site=a" });
  expect(await isGood(credential, selector, ENV, 1000, { operatorWith: found, sessionWith: found })).toBe(
    good,
  );
});

it("the cache has a hash or a time, never the credential", async () => {
  const assertion = `x.${base64url.encode(JSON.stringify({ exp: 7 }))}.y`;
  expect(await credentialOf("a", assertion)).toEqual({ sha256: admin });
  expect(await credentialOf(null, assertion)).toEqual({ untilMs: 7000 });
});
