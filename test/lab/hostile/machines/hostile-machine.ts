// Plays a hostile machine: enrolled, with a key of its own, it acts as often as the Worker's limit for a machine allows.
import { machineKey, type MachineKey } from "../../../../node-shim/identity/identity.ts";
import type { Transport } from "../../../../node-shim/worker-link/exchange.ts";
import { enrol, leave, rotate } from "../../../../node-shim/worker-link/requests.ts";
import { RATE_LIMITS, reserve, type TokenBucket } from "../../../../worker/storage/token-bucket.ts";
import { seededKey } from "../jwt.ts";
import type { Random } from "../random.ts";
import { actOf } from "./acts.ts";
import { type Draft, wellDraft } from "./draft.ts";
import type { Act, Coveted } from "./kinds.ts";
import { type Answer, type Credentials, sender, type Sender } from "./sender.ts";
import { streamOf } from "./streams.ts";

export interface HostileMachine {
  /** The machine's number, which determines its acts together with the seed. */
  number: number;
  name: string;
  /** A join token for the machine's name, and for names that start with it. */
  joinToken: string;
  /** A join token for any name. */
  joinTokenOfAll: string;
  coveted: Coveted;
}

/** The result of one act of a hostile machine. */
export interface Outcome {
  kind: string;
  /** The HTTP status, or the answer to a request that is no report. */
  answer: string;
  fault?: "5xx" | "no answer" | "over a limit and taken";
  text?: string;
}

export interface Run {
  seed: number;
  origin: string;
  send: Transport;
  /** The number of acts after which the machine ends. */
  acts: number;
  /** Returns true once the run is over: the machine then ends. */
  isOver: () => boolean;
  wait: (ms: number) => Promise<void>;
  note: (index: number, outcome: Outcome) => void;
}

/** The least milliseconds between two acts. */
const ACT_EVERY_MS = 100;
const { requests: LIMIT } = RATE_LIMITS;

/** Returns how long a machine needs for its acts: after LIMIT.atOnce acts, the Worker takes one in LIMIT.everyMs. */
export const actsLastMs = (acts: number): number =>
  acts * ACT_EVERY_MS + Math.max(0, acts - LIMIT.atOnce) * (LIMIT.everyMs - ACT_EVERY_MS);

export async function runHostileMachine(machine: HostileMachine, run: Run): Promise<void> {
  const identity = new Identity(machine, run);
  await identity.enrolAnew();
  let bucket: TokenBucket | undefined;
  for (let index = 0; index < run.acts && !run.isOver(); index++) {
    const startedMs = performance.now();
    const act = actOf(run.seed, machine.number, index, identity.at());
    const outcome = await identity.perform(act, streamOf(run.seed, machine.number, "tricks", index));
    run.note(index, outcome);
    const answered = await identity.answer(streamOf(run.seed, machine.number, "answers", index));
    if (answered) run.note(index, answered);
    const next = reserve(bucket, LIMIT, 1, startedMs);
    ({ bucket } = next);
    await run.wait(Math.max(0, startedMs + Math.max(ACT_EVERY_MS, next.waitMs) - performance.now()));
  }
}

/** Judges an answer: its outcome has a fault if the Worker may not give this answer. */
export function outcomeOf(kind: string, answer: Answer, isOver = false): Outcome {
  const { status, phase, factsRefused } = answer;
  const text = JSON.stringify(answer);
  if (status === 0) return { kind, answer: "no answer", fault: "no answer", text };
  if (status >= 500) return { kind, answer: String(status), fault: "5xx", text };
  // The Worker does not read the reports of clones, so it accepts them even over a limit.
  // The answer to vitals over a limit names the limit that the Worker has applied.
  const isLimited = / is (limited|cut) to \d+ /.test(answer.message ?? "");
  const isTaken = status === 200 && phase === "registered" && !factsRefused && !isLimited;
  if (isOver && isTaken) return { kind, answer: "200", fault: "over a limit and taken", text };
  return { kind, answer: String(status) };
}

/** The name and key that the hostile machine uses at present. */
class Identity {
  readonly #machine: HostileMachine;
  readonly #run: Run;
  readonly #keys: Random;
  #credentials: Credentials | undefined;
  #sender: Sender | undefined;
  /**
   * The number of names used. Each name has a limit of enrolments a day, after which the machine uses its next
   * name.
   */
  #names = 0;

  constructor(machine: HostileMachine, run: Run) {
    this.#machine = machine;
    this.#run = run;
    this.#keys = streamOf(run.seed, machine.number, "keys", 0);
  }

  at(): { name: string; coveted: Coveted } {
    const { name, coveted } = this.#machine;
    return { name: this.#names === 0 ? name : `${name}-${this.#names}`, coveted };
  }

  async perform(act: Act, random: Random): Promise<Outcome> {
    const [sender, credentials] = [this.#sender, this.#credentials];
    if (!sender || !credentials) return this.enrolAnew();
    if (act.does === "rotate") return this.#rotate(act.kind, credentials);
    if (act.does === "leave") return this.#leave(act.kind, credentials);
    if (act.does === "ask for a name") return this.#askFor(act.kind, act.name);
    if (act.does === "use names") {
      const outcomes: Outcome[] = [];
      for (const { name, drafts } of act.uses) outcomes.push(await this.#useName(act.kind, name, drafts));
      return worstOf(outcomes);
    }
    if (act.does === "report at once") {
      const answers = await Promise.all(act.drafts.map((draft) => sender.report(draft)));
      return worstOf(answers.map((answer) => outcomeOf(act.kind, answer)));
    }
    const how = act.trick && {
      trick: act.trick,
      surroundings: { random, otherName: this.#machine.coveted.names[0]! },
    };
    let outcome: Outcome | undefined;
    let last: Answer;
    let left = act.times ?? 1;
    do {
      last = await sender.report(act.draft, how);
      const next = outcomeOf(act.kind, last, act.isOver);
      outcome = outcome?.fault ? outcome : next;
    } while (--left > 0);
    // An operator has revoked the machine's key, or its name belongs to another machine now.
    if (last.reason === "key-revoked" || (last.reason === "unauthenticated" && !act.trick))
      this.#sender = undefined;
    if (last.reason === "rate-limited") await this.#run.wait(last.retryAfterMs);
    return outcome;
  }

  /** Answers a question, if there is one, or pretends to. Returns null if the machine has sent nothing. */
  async answer(random: Random): Promise<Outcome | null> {
    const acted = await this.#sender?.answers.act(random, this.#machine.coveted.names[0]!);
    return acted ? worstOf(acted.answers.map((answer) => outcomeOf(acted.kind, answer))) : null;
  }

  /**
   * Enrols with a new key, under the same name. If the name may not be enrolled again today, the machine uses its
   * next name.
   */
  async enrolAnew(): Promise<Outcome> {
    const kind = "enrols";
    const { send } = this.#run;
    const key = await this.#newKey();
    const { name } = this.at();
    const enrolled = await enrol(send, key, { ...this.#enrolling(name), joinToken: this.#machine.joinToken });
    if (enrolled.ok) {
      this.#use({ name, origin: this.#run.origin, key, ...enrolled.value });
      return { kind, answer: "200" };
    }
    if (enrolled.error.reason === "failed") return faultOf(kind, enrolled.error.message);
    if (enrolled.error.problem.reason !== "challenge-stale") this.#names++;
    return outcomeOf(kind, { retryAfterMs: 0, ...enrolled.error.problem });
  }

  async #rotate(kind: string, credentials: Credentials): Promise<Outcome> {
    const next = await this.#newKey();
    const rotated = await rotate(this.#run.send, credentials, next);
    if (rotated.ok) {
      this.#use({ ...credentials, key: next, kid: rotated.value.kid, ticket: "" });
      return { kind, answer: "200" };
    }
    return refusedOutcome(kind, rotated.error);
  }

  async #leave(kind: string, credentials: Credentials): Promise<Outcome> {
    const left = await leave(this.#run.send, credentials);
    if (!left.ok) return refusedOutcome(kind, left.error);
    return this.enrolAnew();
  }

  /** Tries to enrol under a name. If the machine gets the name, it also sends one report under it. */
  async #askFor(kind: string, name: string): Promise<Outcome> {
    const { send, origin } = this.#run;
    const key = await this.#newKey();
    const { joinTokenOfAll: joinToken } = this.#machine;
    const enrolled = await enrol(send, key, { ...this.#enrolling(name), joinToken });
    if (!enrolled.ok) return refusedOutcome(kind, enrolled.error);
    const ids = { startId: key.thumbprint, bootID: key.thumbprint, machineID: key.thumbprint };
    const answer = await sender({ name, origin, key, ...enrolled.value }, send).report(
      wellDraft(name, ids, 0),
    );
    return outcomeOf(kind, answer);
  }

  async #useName(kind: string, name: string, drafts: readonly Draft[]): Promise<Outcome> {
    const { send, origin } = this.#run;
    const key = await this.#newKey();
    const { joinToken } = this.#machine;
    const enrolled = await enrol(send, key, { ...this.#enrolling(name), joinToken });
    if (!enrolled.ok) return refusedOutcome(kind, enrolled.error);
    const { report } = sender({ name, origin, key, ...enrolled.value }, send);
    const outcomes: Outcome[] = [];
    for (const draft of drafts) {
      outcomes.push(outcomeOf(kind, await report(draft)));
      await this.#run.wait(ACT_EVERY_MS);
    }
    return worstOf(outcomes);
  }

  #use(credentials: Credentials): void {
    this.#credentials = credentials;
    this.#sender = sender(credentials, this.#run.send);
  }

  #enrolling(name: string) {
    return { name, origin: this.#run.origin, machineID: `machine-of-${name}`, systemUUID: name };
  }

  async #newKey(): Promise<MachineKey> {
    const { x, d } = await seededKey(this.#keys);
    return machineKey({ kty: "OKP", crv: "Ed25519", x, d });
  }
}

/** Returns the first outcome with a fault, or else the last one. */
const worstOf = (outcomes: readonly Outcome[]) => outcomes.find(({ fault }) => fault) ?? outcomes.at(-1)!;

type Refused = Extract<Awaited<ReturnType<typeof leave>>, { ok: false }>["error"];

function refusedOutcome(kind: string, error: Refused): Outcome {
  if (error.reason === "failed") return faultOf(kind, error.message);
  return outcomeOf(kind, { retryAfterMs: 0, ...error.problem });
}

const faultOf = (kind: string, text: string): Outcome => ({
  kind,
  answer: "no answer",
  fault: "no answer",
  text,
});
