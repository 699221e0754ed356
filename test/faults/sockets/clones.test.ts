// Tests several machines with one key on sockets: the Worker finds the clones as over HTTP, and does not renew
// their lease after that.
import { describe, expect, it } from "vitest";
import type { ListedSenders } from "../../../shared/protocol/operator-answers.ts";
import { facts, operator } from "../../worker/support/machine.ts";
import { type OpenSocket, type ReportWish, SocketMachine } from "../../worker/support/socket-machine.ts";
import { onHttp, renewedBy, shown, slug } from "./on-socket.ts";
import { shift } from "../../worker/support/clock.ts";

type Way = "HTTP" | "socket";
type Kind = "with other IDs" | "with its memory";

const TURN_MS = 5000;

const doubleOf = async (name: string) =>
  (await operator<ListedSenders>("GET", `/v1/nodes/${name}/clones`)).body.double?.phase;

const isEnding = ({ closed, frames }: OpenSocket) => closed !== null || frames.at(-1)?.type === "closing";

/**
 * A machine that sends one message in each turn: a heartbeat if allowed, else a report; without a socket, a report
 * over HTTP.
 */
class Sender {
  readonly machine: SocketMachine;
  readonly #way: Way;
  readonly #wish: ReportWish;
  /** The path where the machine may open a socket. "" if the Worker has named none. */
  #path: string;
  #socket: OpenSocket | null = null;
  readonly said: string[] = [];

  constructor(machine: SocketMachine, way: Way, { path = "", ...wish }: ReportWish & { path?: string } = {}) {
    this.machine = machine;
    this.#way = way;
    this.#path = path;
    this.#wish = wish;
  }

  async turn(): Promise<void> {
    shift(TURN_MS);
    this.said.push(await this.#say());
  }

  async #say(): Promise<string> {
    if (this.#path) this.#socket = await this.machine.connect(this.#path);
    this.#path = "";
    const socket = this.#socket;
    if (!socket || isEnding(socket)) return this.#http();
    const frame = socket.session ? await socket.beat() : null;
    if (frame !== null && frame !== "closed" && frame.type === "answer") return "beat by socket";
    return isEnding(socket) ? this.#http() : this.#report(socket);
  }

  async #report(socket: OpenSocket): Promise<string> {
    const { body } = await socket.report(this.#wish);
    return `${"phase" in body ? body.phase : body.reason} by socket`;
  }

  async #http(): Promise<string> {
    this.#socket = null;
    const { answer } = await this.machine.http(this.#wish);
    if (answer.socket && this.#way === "socket") this.#path = answer.socket.path;
    return answer.phase;
  }
}

/** Returns a registered machine and its copy. Each has the path of a socket if its Way is "socket". */
async function twins(
  kind: Kind,
  [own, other]: readonly [Way, Way],
  when: string,
): Promise<{ name: string; original: Sender; copy: Sender }> {
  const { name, enrolled, machine } = await onHttp(slug("clones", kind, own, other, when));
  const path = other === "socket" ? machine.path : "";
  const original = new Sender(machine, own);
  await original.turn();
  if (kind === "with its memory")
    return { name, original, copy: new Sender(machine.copy(), other, { path }) };
  const ids = { ...facts(name).machine!, machineID: "m-2", bootID: "b-2" };
  const copy = new SocketMachine(enrolled, "start-2");
  return { name, original, copy: new Sender(copy, other, { path, facts: facts(name, { machine: ids }) }) };
}

interface Found extends Awaited<ReturnType<typeof twins>> {
  /**
   * The number of the lease's renewals until both machines were answered `cloned`. `after` is the number of renewals in
   * some later turns.
   */
  before: number;
  after: number;
}

/**
 * Lets the copy send after each `turns` turns of the original, until the Worker answers `cloned` to both. Counts the
 * renewals.
 */
async function foundOut(kind: Kind, turns: number, ways: readonly [Way, Way]): Promise<Found> {
  const { name, original, copy } = await twins(kind, ways, `every-${turns}`);
  const takeTurns = async (rounds: number) => {
    for (let round = 0; round < rounds; round++) {
      for (let turn = 0; turn < turns; turn++) await original.turn();
      await copy.turn();
    }
    await original.turn();
  };
  const before = await renewedBy(name, () => takeTurns(3));
  for (const { said } of [original, copy]) expect(said.at(-1)).toMatch(/^cloned/);
  return { name, original, copy, before, after: await renewedBy(name, () => takeTurns(1)) };
}

describe.each<[Kind, number]>([
  ["with other IDs", 1],
  ["with other IDs", 3],
  ["with its memory", 1],
  ["with its memory", 3],
])("a machine and a copy of it %s, after each %i of its turns", (kind, turns) => {
  let found: Promise<Found> | undefined;
  const onHttpAlone = () => (found ??= foundOut(kind, turns, ["HTTP", "HTTP"]));

  it.each<[Way, Way]>([
    ["socket", "socket"],
    ["socket", "HTTP"],
    ["HTTP", "socket"],
  ])("by %s and %s → cloned, and no renewal more than on HTTP", async (...ways) => {
    const { name, original, copy, before, after } = await foundOut(kind, turns, ways);
    const areOnSocket = [original, copy].map(({ said }) => said.some((what) => what.endsWith("socket")));
    expect(areOnSocket).toEqual(ways.map((way) => way === "socket"));
    expect(before).toBeLessThanOrEqual((await onHttpAlone()).before);
    expect(after).toBe(0);
    expect(await doubleOf(name)).toBe("cloned");
    expect(await shown(name)).toMatchObject({ phase: "cloned" });
  });
});
