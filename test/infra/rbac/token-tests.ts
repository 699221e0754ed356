// Defines tests of the renewal of the Worker's token on a server with the rights of infra/rbac. The token renews itself
// until the Secret that the tokens are bound to is deleted. Tokens last ten minutes (the minimum), and the test moves
// the clock.
import { afterAll, beforeEach, expect, test } from "vitest";
import { fieldsOf, textOf } from "../../../infra/local/apiserver/object.ts";
import { type KeptChain, TokenChain } from "../../../worker/cluster/token-chain.ts";
import { HeldToken, renewFromMs, tokenLife } from "../../../worker/kube/token.ts";
import { kubeClient } from "../../../worker/kube/kube-client.ts";
import { create, sendUntil } from "../local/apiserver/contract/accounts.ts";
import { send, type TestServer } from "../local/apiserver/test-server.ts";

const HOME = "/api/v1/namespaces/rollcall-system";
const SECONDS = 600;
const MINUTE_MS = 60_000;
const UNAUTHORIZED = 401;

/** Returns the chain of tokens that begins with `secret`, on this server. */
function chainOn(server: TestServer, secret: string) {
  let kept: KeptChain = {};
  const on = { aheadMs: 0, logged: [] as Record<string, unknown>[] };
  // Returns the time of the chain's clock, which begins at the issue of the first token, and is moved by `aheadMs`.
  const nowMs = () => tokenLife(secret)!.issuedAtMs + on.aheadMs;
  const connectWith = (token: () => string, otherToken?: HeldToken["instead"]) =>
    kubeClient({
      fetch: (url, init) => server.fetch(new Request(url, init)),
      url: server.url,
      token,
      ...(otherToken && { otherToken }),
      fieldManager: "rollcall.rollcall",
      withinMs: MINUTE_MS,
      nowMs: () => performance.now(),
    });
  const chain = new TokenChain({
    secret,
    deployment: "rollcall",
    seconds: SECONDS,
    store: {
      read: () => Promise.resolve(kept),
      write: (next) => Promise.resolve(void (kept = next)),
    },
    connect: (token) => connectWith(() => token),
    nowMs,
    log: (line) => void on.logged.push(line),
  });
  /** Moves the clock to the time when the next token is due, and requests it. */
  const renew = async () => {
    on.aheadMs += Math.max(0, (await chain.nextMs())! - nowMs()) + MINUTE_MS;
    await chain.upkeep();
    return chain.tokenFor(undefined);
  };
  /** Returns a client that uses the token, and requests the token as a machine's node object does. */
  const machine = () => {
    const ask = (refused: string | undefined) => chain.tokenFor(refused);
    const held = new HeldToken({ known: {}, timer: undefined, secret, ask, nowMs, random: () => 0 });
    return {
      held,
      client: connectWith(
        () => held.current(),
        (refused) => held.instead(refused),
      ),
    };
  };
  return Object.assign(on, { chain, renew, machine });
}

/** Defines the tests of the token's renewal. `started` returns a server with infra/rbac. */
export function describeTokens(started: () => { server: TestServer }): void {
  const firstToken = async (boundObjectRef: object | null) => {
    const body = { spec: { expirationSeconds: SECONDS, boundObjectRef } };
    const answer = await create(started().server, `${HOME}/serviceaccounts/rollcall/token`, body);
    return textOf(fieldsOf(answer.body["status"])["token"]);
  };
  const bound = { apiVersion: "v1", kind: "Secret", name: "rollcall" };
  const deleteSecret = () => send(started().server, { method: "DELETE", path: `${HOME}/secrets/rollcall` });
  const codeOf = async (token: string) => (await send(started().server, { path: "/version", token })).code;

  const renewSecret = async () => {
    await deleteSecret();
    await create(started().server, `${HOME}/secrets`, { metadata: { name: "rollcall" } });
  };

  beforeEach(renewSecret);
  // The Secret must exist for other test processes on the same server.
  afterAll(renewSecret);

  test("from half of its life on a token is renewed with itself, again and again", async () => {
    const secret = await firstToken(bound);
    const { chain, renew } = chainOn(started().server, secret);
    expect(await chain.nextMs()).toBe(renewFromMs(tokenLife(secret)!));
    const [second, third] = [await renew(), await renew()];
    expect(new Set([secret, second, third]).size).toBe(3);
    const { issuedAtMs, expiresAtMs } = tokenLife(third)!;
    expect(expiresAtMs - issuedAtMs).toBe(SECONDS * 1000);
    expect(await codeOf(third)).toBe(200);
    expect(await chain.status()).toMatchObject({
      source: "renewed",
      account: "system:serviceaccount:rollcall-system:rollcall",
    });
  });

  test("the Secret is deleted → every token ends, which is known and no loop; a new secret begins anew", async () => {
    const { server } = started();
    const renewed = await chainOn(server, await firstToken(bound)).renew();
    const secret = await firstToken(bound);
    const on = chainOn(server, secret);
    const { chain, machine } = on;
    await deleteSecret();
    // The test uses tokens that no request has used: a server remembers for ten seconds that a token was valid.
    for (const token of [renewed, secret])
      expect(
        await sendUntil(server, { path: "/version", token }, ({ code }) => code === UNAUTHORIZED),
      ).toMatchObject({
        code: UNAUTHORIZED,
      });
    const { client, held } = machine();
    for (let minute = 0; minute < 3; minute++) {
      on.aheadMs += MINUTE_MS;
      expect(await client.getNode("any")).toMatchObject({ error: { status: { code: UNAUTHORIZED } } });
    }
    expect(held.current()).toBe(secret);
    expect(on.logged.length).toBeLessThanOrEqual(3);
    expect((await chain.status()).lastFailure).toMatchObject({ reason: "Unauthorized" });

    await create(server, `${HOME}/secrets`, { metadata: { name: "rollcall" } });
    expect([await codeOf(renewed), await codeOf(secret)]).toEqual([UNAUTHORIZED, UNAUTHORIZED]);
    const next = chainOn(server, await firstToken(bound));
    expect(await codeOf(await next.renew())).toBe(200);
  });

  test("a renewed token is refused, and the secret is not → the same request succeeds with a new token", async () => {
    const { server } = started();
    const secret = await firstToken(null);
    const on = chainOn(server, secret);
    const { client, held } = on.machine();
    const renewed = await on.renew();
    await held.refresh(true);
    expect(held.current()).toBe(renewed);
    await deleteSecret();
    await create(server, `${HOME}/secrets`, { metadata: { name: "rollcall" } });
    await sendUntil(server, { path: "/version", token: renewed }, ({ code }) => code === UNAUTHORIZED);
    on.aheadMs += MINUTE_MS;
    expect(await client.getNode("none")).toMatchObject({ error: { status: { code: 404 } } });
    expect([secret, renewed]).not.toContain(held.current());
  });

  test("there is no Secret → it is said in an event of the account, and the token at hand stays", async () => {
    const { server } = started();
    const secret = await firstToken(null);
    const on = chainOn(server, secret);
    await deleteSecret();
    expect(await on.renew()).toBe(secret);
    expect((await on.chain.status()).lastFailure).toMatchObject({
      reason: "NotFound",
      message: 'secrets "rollcall" not found',
    });
    expect(on.logged).toEqual([
      { message: "cluster token not renewed", error: 'secrets "rollcall" not found' },
    ]);
    const { body } = await send(server, { path: `${HOME}/events` });
    expect(body["items"]).toContainEqual(
      expect.objectContaining({
        reason: "TokenNotRenewed",
        type: "Warning",
        involvedObject: expect.objectContaining({ kind: "ServiceAccount", name: "rollcall" }) as object,
        message: `The Worker's token is not renewed: secrets "rollcall" not found`,
      }),
    );
  });
}
