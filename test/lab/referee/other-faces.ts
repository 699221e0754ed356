// Judges what the other faces state: one machine, the feed, notifications and metrics.
import { diagnose } from "../../../infra/page/machine/diagnosis.ts";
import { nodeScreen } from "../../../infra/operator/fleet/machine-screen.ts";
import { PIPE } from "../../../infra/operator/render/terminal.ts";
import { FeedView } from "../../../shared/fleet/feed-view.ts";
import type { MachinesAnswer } from "../../../shared/protocol/fleet-answers.ts";
import type { FeedMessage } from "../../../shared/protocol/feed.ts";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { CONTROLLER_TEXT, type Lie, lieOf, judgeState, judgeQuotes } from "./faces.ts";
import { LATE_MS, PRESSURES, type Pressure } from "./truth.ts";
import type { ClientSocket } from "./web-sockets.ts";
import type { Delivery, LivingMachine, World } from "./world.ts";

/** The page's wait before it opens another feed. */
const FEED_AGAIN_MS = 1000;

/** Checks one machine: the API's answer, and the texts of the command line and the page. */
export async function checkMachine(world: World, machine: LivingMachine): Promise<Lie[]> {
  const { name, heard } = machine;
  const whole = await world.operator<WholeNode>("GET", `/v1/nodes/${name}`);
  const nowMs = world.time.nowMs();
  const lie = lieOf("one machine", name);
  const { summary, silentSince, conditions } = whole;
  const screen = nodeScreen(whole, [], "").text({ screen: PIPE, nowMs, isWide: false });
  const input = { name, live: null, whole, answeredMs: nowMs, neighbours: null, isContested: false };
  const { sentence = "", details = [], warnings = [] } = diagnose(input) ?? {};
  const words = [sentence, ...details.map(({ text = "" }) => text), ...warnings.map(({ text }) => text)];
  const isBefore = silentSince !== null && Date.parse(silentSince) < heard.lastMs - LATE_MS;
  return [
    ...lie(summary?.state ?? "", summary && judgeState(world, machine, summary.state)),
    ...lie(
      `silent since ${silentSince}`,
      silentSince !== null && !heard.wasOutOfContact(nowMs) ? "it reports" : null,
    ),
    ...lie(
      `silent since ${silentSince}`,
      isBefore && !heard.isRefused(nowMs) ? `heard ${Math.round((nowMs - heard.lastMs) / 1000)} s ago` : null,
    ),
    ...conditions.flatMap(({ type, status }) =>
      lie(
        `${type} ${status}`,
        status === "True" && PRESSURES.includes(type as Pressure) && !heard.mayHave(type as Pressure, nowMs)
          ? "it does not state that"
          : null,
      ),
    ),
    ...lieOf("the page's words", name)(words.join(" "), judgeQuotes(machine, nowMs, words.join(" "))),
    ...lieOf("rollcall node", name)(
      CONTROLLER_TEXT,
      screen.includes(CONTROLLER_TEXT) ? "the machine never said that" : null,
    ),
  ];
}

/** Compares GET /metrics with GET /v1/machines, and judges rollcall_cluster_reachable. */
export async function checkMetrics(world: World): Promise<Lie[]> {
  const ask = async () =>
    (await world.operator<MachinesAnswer>("GET", "/v1/machines?fields=name")).counts.fleet;
  const before = await ask();
  const text = await world.operator<string>("GET", "/metrics");
  const fleet = await ask();
  const nowMs = world.time.nowMs();
  const lie = lieOf("metrics", "");
  const values = new Map(
    text
      .split("\n")
      .filter((line) => line.startsWith("rollcall_"))
      .map((line): [string, number] => {
        const at = line.lastIndexOf(" ");
        return [line.slice(0, at), Number(line.slice(at + 1))];
      }),
  );
  // A machine may change its state while GET /metrics waits for its sources.
  const isSteady = JSON.stringify(before) === JSON.stringify(fleet);
  const states = Object.entries(isSteady ? fleet : {}).filter(([state]) => state !== "pending");
  const reachable = values.get("rollcall_cluster_reachable");
  return [
    ...states.flatMap(([state, count]) => {
      const stated = values.get(`rollcall_machines{state="${state}"}`);
      return lie(`${stated} machines ${state}`, stated === count ? null : `the list has ${count}`);
    }),
    ...lie(
      "the cluster is reachable",
      reachable === 1 && !world.kubeGone.wasOff(nowMs) ? "the apiserver does not answer" : null,
    ),
    ...lie(
      "the cluster is not reachable",
      reachable === 0 && !world.kubeTrouble.wasOn(nowMs) ? "the apiserver answers" : null,
    ),
  ];
}

/** Judges a notification at the time of its arrival. */
export function judgeDelivery(world: World, { alerts }: Pick<Delivery, "alerts">): Lie[] {
  return alerts.flatMap(({ status, kind, state, names, text }) => {
    if (kind !== "machine") return [];
    return names.flatMap((name) => {
      const machine = world.machines.find((each) => each.name === name);
      const truth =
        machine &&
        (status === "firing" ? judgeState(world, machine, state) : continues(world, machine, state));
      return lieOf("a notification", name)(`${status}: ${text}`, truth ?? null);
    });
  });
}

/** Returns the truth if the state that a notification calls resolved continues. */
function continues(world: World, { heard, isOut }: LivingMachine, state: string): string | null {
  const nowMs = world.time.nowMs();
  if (isOut) return null;
  const isHeard = heard.wasInContact(nowMs, 2 * LATE_MS);
  // While the apiserver is unreachable, no machine becomes silent (docs/outages.md).
  if (state === "silent" && !isHeard && !world.kubeTrouble.wasOn(nowMs))
    return `not heard of since ${world.seconds(heard.lastMs)} s`;
  if (state === "not-ready" && !heard.mayBeReady(nowMs) && isHeard) return "its last report states a fault";
  if (state === "cluster-unreachable" && !world.kubeGone.wasOff(nowMs, 2 * LATE_MS))
    return "the apiserver is away";
  return null;
}

/** The feed of an open page. */
export class FeedFace {
  #view = new FeedView();
  #isOpen = false;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async open(): Promise<void> {
    const { cursor } = this.#view;
    const again = () => void this.#world.time.after(FEED_AGAIN_MS, () => void this.open());
    try {
      const path = cursor === null ? "/v1/feed" : `/v1/feed?cursor=${encodeURIComponent(cursor)}`;
      const socket = await this.#world.openFeed(path);
      if (!socket) return again();
      this.#isOpen = true;
      socket.listen({
        received: (text) => this.#take(socket, text),
        ended: () => {
          this.#isOpen = false;
          again();
        },
      });
    } catch {
      again();
    }
    return undefined;
  }

  #take(socket: ClientSocket, text: string): void {
    const message = JSON.parse(text) as FeedMessage;
    this.#view.take(message);
    if ("cursor" in message) socket.send(JSON.stringify({ ack: message.cursor }));
  }

  /** Judges what the page shows; nothing without a feed, because the page then states that it is not current. */
  check(): Lie[] {
    if (!this.#isOpen) return [];
    return this.#world.machines.flatMap((machine) => {
      const row = this.#view.machines.get(machine.name);
      const lie = lieOf("the page", machine.name);
      if (!row) return lie("absent", machine.isOut ? null : "it is enrolled");
      const nowMs = this.#world.time.nowMs();
      return [
        ...lie(row.state, judgeState(this.#world, machine, row.state)),
        ...lie(`${row.state}: ${row.why}`, judgeQuotes(machine, nowMs, row.why)),
      ];
    });
  }
}
