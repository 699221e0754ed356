// Publishes the features of a machine for its object: one write at a time, and the alarm for what has to wait.
import { currentMs } from "../clock.ts";
import { type Environment, nodeFeatureNamespace } from "../env.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { machineLog } from "../log.ts";
import { singleFlight } from "../paced.ts";
import { NodeFeaturePublisher, type PublishingMachine } from "../tick/node-feature.ts";
import { nodeTurns } from "../tick/node-turn.ts";
import type { MachineState } from "./machine-state.ts";

const NO_GRANT = { withoutFactsOnlyTaint: false, mayFeature: [] };

export class Publishing {
  readonly #state: MachineState;
  readonly #publisher: NodeFeaturePublisher;
  readonly #once = singleFlight(() => this.#publisher.publish());

  constructor(
    env: Environment,
    state: MachineState,
    client: () => KubeClient, // a client whose requests count in the machine's budget
  ) {
    this.#state = state;
    this.#publisher = new NodeFeaturePublisher(publishingMachine(env, state, client));
  }

  isDue(): boolean {
    return this.#publisher.isDue();
  }

  /** Writes or removes the machine's NodeFeature object, if that is due. */
  async publish(): Promise<void> {
    if (this.isDue()) await this.#once();
    const { againAtMs } = this.#state.records.get("nodeFeature") ?? {};
    // A machine on a socket or with refused keys may send no report, so the alarm tries again. Other work may ring it first.
    if (againAtMs !== undefined) await this.#state.alarm.atLatest(againAtMs);
  }
}

/** Returns the machine. Its values are always those of the present enrolment and of the Worker's variables. */
function publishingMachine(
  env: Environment,
  { records, journal, keys }: MachineState,
  client: () => KubeClient,
): PublishingMachine {
  const enrolment = () => records.get("enrolment");
  return {
    records,
    journal,
    client,
    deployment: env.DEPLOYMENT,
    nowMs: currentMs,
    random: Math.random,
    nodeTurn: (load) => nodeTurns(env, enrolment()?.token ?? "")(load),
    log: (message, error) => machineLog(enrolment()?.name ?? "")(message, error),
    get name() {
      return enrolment()?.name ?? "";
    },
    get grant() {
      return enrolment() ?? NO_GRANT;
    },
    // A machine whose keys are refused publishes nothing.
    get namespace() {
      return env.KUBE_URL && keys.enrolled() ? nodeFeatureNamespace(env) : null;
    },
  };
}
