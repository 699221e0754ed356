// Tests the times that a token contains, and when the token is renewed.
import { describe, expect, it } from "vitest";
import { renewFromMs, tokenClaims, tokenLife } from "../../../../worker/kube/token.ts";
import { jwtOf } from "../../support/account-tokens.ts";

const ROLLCALL = "system:serviceaccount:rollcall-system:rollcall";
const account = { namespace: "rollcall-system", name: "rollcall" };
const times = { iat: 1000, exp: 4600 };
const life = { account, issuedAtMs: 1_000_000, expiresAtMs: 4_600_000 };

describe("a token", () => {
  it.each<[string, string, object, object | null]>([
    ["of a ServiceAccount that ends", jwtOf({ sub: ROLLCALL, ...times }), life, life],
    ["without an end", jwtOf({ sub: ROLLCALL, iat: 1000 }), { account, issuedAtMs: 1_000_000 }, null],
    ["without a beginning", jwtOf({ sub: ROLLCALL, exp: 4600 }), { account, expiresAtMs: 4_600_000 }, null],
    [
      "that ends as it begins",
      jwtOf({ sub: ROLLCALL, iat: 1000, exp: 1000 }),
      { account, issuedAtMs: 1_000_000, expiresAtMs: 1_000_000 },
      null,
    ],
    ["whose times are texts", jwtOf({ sub: ROLLCALL, iat: "1000", exp: "4600" }), { account }, null],
    [
      "of a person",
      jwtOf({ sub: "alice", ...times }),
      { issuedAtMs: 1_000_000, expiresAtMs: 4_600_000 },
      null,
    ],
    ["without an account", jwtOf(times), { issuedAtMs: 1_000_000, expiresAtMs: 4_600_000 }, null],
    ["that is no JWT", "opaque", {}, null],
    ["that looks like one", "a.b.c", {}, null],
    ["that is empty", "", {}, null],
  ])("%s", (_, token, claims, renewable) => {
    expect(tokenClaims(token)).toEqual(claims);
    expect(tokenLife(token)).toEqual(renewable);
  });

  it.each([
    "system:serviceaccount:rollcall-system",
    "system:serviceaccount:rollcall-system:rollcall:more",
    "system:serviceaccount::rollcall",
    "system:serviceaccount:rollcall-system:",
    "system:serviceaccount:../nodes:rollcall",
    "system:serviceaccount:rollcall-system:rollcall/../../x",
    "system:serviceaccount:rollcall-system:Rollcall",
    "system:node:rollcall-system:rollcall",
    "other:serviceaccount:rollcall-system:rollcall",
  ])("of %s is no ServiceAccount's: its parts would be parts of a path", (sub) => {
    expect(tokenLife(jwtOf({ sub, ...times }))).toBeNull();
  });
});

it.each([
  ["ten minutes", 600, 300],
  ["an hour", 3600, 1800],
  ["a year", 8760 * 3600, 4380 * 3600],
])("a token of %s is renewed from half of it on", (_, seconds, fromSeconds) => {
  const token = tokenLife(jwtOf({ sub: ROLLCALL, iat: 1000, exp: 1000 + seconds }))!;
  expect(renewFromMs(token) / 1000 - 1000).toBe(fromSeconds);
});
