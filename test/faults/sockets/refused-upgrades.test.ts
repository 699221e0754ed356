// Tests invalid requests for a socket: no object is created for them, and no socket opens.
import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { GATEWAY_LIMITS } from "../../../shared/protocol/limits.ts";
import { lentBy, nextBeat, onHttp, onSocket, ownGateway, renewedBy, slug } from "./on-socket.ts";
import { shift } from "../../worker/support/clock.ts";

const TICKET_MS = 1000 * GATEWAY_LIMITS.ticketSeconds;
const UNAUTHENTICATED = /^no socket: 401 .*"unauthenticated"/;

const objects = async () => [
  ...(await listDurableObjectIds(env.GATEWAYS)),
  ...(await listDurableObjectIds(env.NODES)),
];

type Known = Awaited<ReturnType<typeof onHttp>>;

describe("a request for a socket", () => {
  it.each<[situation: string, path: (known: Known) => Promise<string> | string, refusal: RegExp]>([
    [
      "of a gateway that is not assigned",
      ({ machine }) => machine.path.replace(/gateways\/\d+/, "gateways/424242"),
      UNAUTHENTICATED,
    ],
    [
      "of a number in another spelling",
      ({ machine }) => machine.path.replace("gateways/", "gateways/0"),
      /^no socket: 404/,
    ],
    [
      "with a ticket of another gateway",
      async ({ name, gateway }) => {
        const neighbour = await onHttp(`${name}-other`, gateway + 1);
        return neighbour.machine.path.replace(neighbour.name, name);
      },
      UNAUTHENTICATED,
    ],
    [
      "with a neighbour's ticket",
      async ({ name, gateway }) => {
        const neighbour = await onHttp(`${name}-other`, gateway);
        return neighbour.machine.path.replace(neighbour.name, name);
      },
      UNAUTHENTICATED,
    ],
    [
      "with its ticket, and a neighbour's name",
      async ({ name, gateway, machine }) => {
        const neighbour = await onHttp(`${name}-other`, gateway);
        return machine.path.replace(name, neighbour.name);
      },
      UNAUTHENTICATED,
    ],
    ["with a later end in its ticket", ({ machine }) => machine.path.replace("t=", "t=1"), UNAUTHENTICATED],
    ["without a ticket", ({ machine }) => machine.path.replace(/\?.*/, ""), /^no socket: 400/],
    [
      "just after its ticket's end",
      ({ machine }) => {
        shift(TICKET_MS + 1);
        return machine.path;
      },
      UNAUTHENTICATED,
    ],
  ])("%s → no socket, and no object is made for it", async (situation, pathFor, refusal) => {
    const known = await onHttp(slug("upgrade", situation), ownGateway());
    const path = await pathFor(known);
    const before = await objects();
    await expect(known.machine.connect(path)).rejects.toThrow(refusal);
    expect(await objects()).toEqual(before);
  });

  it("just before its ticket expires → a socket", async () => {
    const { name, machine } = await onHttp("upgrade-at-the-end");
    shift(TICKET_MS);
    const socket = await machine.connect();
    expect(await renewedBy(name, () => lentBy(socket))).toBe(1);
  });

  it("with a used ticket → no socket, and the one that it opened stays", async () => {
    const { name, machine, socket } = await onSocket("upgrade-used");
    await expect(machine.connect()).rejects.toThrow(UNAUTHENTICATED);
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
  });
});

describe("an upgrade that a thief has recorded and sends first", () => {
  it("→ its socket has no accepted report, and the machine's next one opens and gets the loan", async () => {
    const { name, machine } = await onHttp("upgrade-stolen");
    const stolen = await machine.connect();
    stolen.sendText(JSON.stringify({ type: "report", ...(await machine.signed()) }));
    expect(await stolen.next()).toMatchObject({ type: "report-answer", status: 401 });
    shift(1000 * GATEWAY_LIMITS.unacceptedSeconds);
    stolen.sendText("whatever");
    expect(await stolen.next()).toMatchObject({ type: "closing", reason: "no report" });
    expect(await renewedBy(name, () => machine.http())).toBe(1);
    const socket = await machine.connect();
    await lentBy(socket);
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
  });
});
