// Notifications: who is told what of the fleet, and whether it arrived. The face of alerts, letters, mutes and receivers;
// what follows from a change is stored in its transaction, and sent by the alarm.
import { testAlert } from "../../shared/fleet/alert.ts";
import { messageText } from "../../shared/fleet/message-text.ts";
import { NOTIFICATION_LIMITS } from "../../shared/protocol/limits.ts";
import type { NewMute, ReceiverChange } from "../../shared/protocol/receiver-api.ts";
import type {
  ChangedReceiver,
  ListedLetter,
  ListedMute,
  ListedReceiver,
  ReceiverTest,
} from "../../shared/protocol/receiver-answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { isRefusedForGood } from "./alert-rules.ts";
import { Alerts, type AlertSurroundings } from "./alerts.ts";
import type { Duty } from "./duties.ts";
import { Letters } from "./letters.ts";
import type { FleetChange } from "./machine-rows.ts";
import { Mutes } from "./mutes.ts";
import { newSigningSecret, Receivers } from "./receivers.ts";
import { type LetterSurroundings, sendLetter } from "./send-letter.ts";
import { webhookAddress } from "./webhook-address.ts";

export const NOTIFICATIONS_MIGRATION = `
  CREATE TABLE receivers (
    name TEXT PRIMARY KEY, settings TEXT NOT NULL, url TEXT NOT NULL, authorization TEXT NOT NULL, secret TEXT NOT NULL,
    next_ms INTEGER, failed INTEGER NOT NULL, failing_since_ms INTEGER, error TEXT NOT NULL, dropped INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE mutes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, from_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL, filter TEXT NOT NULL,
    comment TEXT NOT NULL, who TEXT NOT NULL
  );
  CREATE TABLE watched (
    receiver TEXT NOT NULL, machine TEXT NOT NULL, state TEXT, since_ms INTEGER NOT NULL, told TEXT, alert INTEGER,
    due_ms INTEGER, muted INTEGER NOT NULL, PRIMARY KEY (receiver, machine)
  ) WITHOUT ROWID;
  CREATE INDEX watched_by_due ON watched (due_ms) WHERE due_ms IS NOT NULL;
  CREATE TABLE alerts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, receiver TEXT NOT NULL, key TEXT NOT NULL, said TEXT NOT NULL,
    open INTEGER NOT NULL, letter INTEGER NOT NULL, due_ms INTEGER
  );
  CREATE UNIQUE INDEX alerts_by_key ON alerts (receiver, key);
  CREATE INDEX alerts_by_due ON alerts (due_ms) WHERE due_ms IS NOT NULL;
  CREATE TABLE letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT, receiver TEXT NOT NULL, message TEXT NOT NULL, body TEXT NOT NULL,
    made_ms INTEGER NOT NULL, dead INTEGER NOT NULL, follows INTEGER, error TEXT NOT NULL
  );
  CREATE INDEX letters_by_receiver ON letters (receiver, dead);`;

/** Receivers that are asked at the same time. */
const AT_ONCE = 4;
/** After that no new request is begun in one turn of the alarm. */
const TURN_MS = 5000;

export interface NotificationSurroundings
  extends Omit<AlertSurroundings, "receivers" | "mutes" | "letters">, LetterSurroundings {
  /** Typically the storage's transactionSync. */
  transaction: <T>(work: () => T) => T;
  /** Typically Math.random. */
  random: () => number;
  /** Puts what an operator does into the audit log; before it is done. */
  audit: (record: NotificationRecord) => Promise<void>;
  /** Sees that the alarm rings when something is due. */
  arm: () => Promise<void>;
}

interface NotificationRecord {
  who: string;
  what: "receiver.set" | "receiver.remove" | "receiver.test" | "letter.resend" | "mute.create" | "mute.end";
  /** A receiver's name, a mute's ID. */
  target: string;
  detail: string;
}

/** What is wrong with a field of a body. */
interface FieldFault {
  path: string;
  message: string;
}

export class Notifications {
  readonly #in: NotificationSurroundings;
  readonly #receivers: Receivers;
  readonly #mutes: Mutes;
  readonly #letters: Letters;
  readonly #alerts: Alerts;

  constructor(surroundings: NotificationSurroundings) {
    this.#in = surroundings;
    const { sql } = surroundings;
    this.#receivers = new Receivers(sql);
    this.#mutes = new Mutes(sql);
    this.#letters = new Letters(sql);
    this.#alerts = new Alerts({
      ...surroundings,
      receivers: this.#receivers,
      mutes: this.#mutes,
      letters: this.#letters,
    });
  }

  /** Call it in the transaction of the change, after what makes outages. */
  note(change: FleetChange): void {
    this.#alerts.note(change, this.#in.nowMs());
  }

  duty(): Duty {
    return {
      name: "notifications",
      dueMs: () => {
        const due = [this.#alerts.dueMs(), this.#receivers.dueMs()].filter((ms) => ms !== null);
        return due.length === 0 ? null : Math.min(...due);
      },
      run: () => this.#run(),
    };
  }

  /** Receivers and mutes are others by now. */
  lookAgain(): void {
    this.#receivers.lookAgain();
    this.#mutes.lookAgain();
  }

  list(): ListedReceiver[] {
    return this.#receivers.all().map(({ name }) => this.#shown(name));
  }

  /** Adds a receiver (`isNew`) or changes one. The error: what is wrong, and with which field; null: there is none. */
  async put(
    name: string,
    change: ReceiverChange,
    isNew: boolean,
    who: string,
  ): Promise<Result<ChangedReceiver, FieldFault | null>> {
    const address = this.#addressFor(name, change, isNew);
    if (!address.ok) return address;
    const detail = `${change.format}, ${new URL(address.value).host}`;
    await this.#in.audit({ who, what: "receiver.set", target: name, detail });
    // Others may have been faster meanwhile.
    const url = this.#addressFor(name, change, isNew);
    if (!url.ok) return url;
    const secret = isNew || change.newSecret ? newSigningSecret() : null;
    this.#in.transaction(() => {
      const nowMs = this.#in.nowMs();
      const before = this.#repeatMinutes(name);
      this.#receivers.put(name, { ...change, url: url.value }, secret);
      this.#alerts.repeatEach(name, { before, after: this.#repeatMinutes(name) }, nowMs);
      // What failed by the former settings may not fail by these.
      if (this.#letters.first(name)) this.#receivers.tryAt(name, nowMs);
    });
    const shown = this.#shown(name);
    await this.#in.arm();
    return success({ ...shown, secret });
  }

  /** Forgets also what it was told. False: there is none. */
  async remove(name: string, who: string): Promise<boolean> {
    if (!this.#receivers.target(name)) return false;
    await this.#in.audit({ who, what: "receiver.remove", target: name, detail: "" });
    return this.#in.transaction(() => {
      this.#alerts.remove(name);
      return this.#receivers.remove(name);
    });
  }

  /** Sends a test message at once, and only once. null: there is no such receiver. */
  async test(name: string, who: string): Promise<ReceiverTest | null> {
    const target = this.#receivers.target(name);
    const receiver = this.#receivers.all().find((each) => each.name === name);
    if (!target || !receiver) return null;
    await this.#in.audit({ who, what: "receiver.test", target: name, detail: "" });
    const { deployment, origin, newId, nowMs } = this.#in;
    const [atMs, message] = [nowMs(), newId()];
    const alerts = [testAlert(atMs, newId())];
    const body = messageText(receiver.settings.format, {
      id: message,
      deployment,
      origin,
      receiver: name,
      atMs,
      dropped: 0,
      alerts,
    });
    const { arrived, status, answer } = await sendLetter(this.#in, target, { message, body });
    return { arrived, status, answer, tookMs: nowMs() - atMs };
  }

  /** Those that wait, and the dead ones. null: there is no such receiver. */
  letters(name: string): ListedLetter[] | null {
    return this.#receivers.target(name) && this.#letters.list(name);
  }

  /** False: there is no such dead letter. */
  async resend(name: string, id: number, who: string): Promise<boolean> {
    if (!this.#letters.isDead(name, id)) return false;
    await this.#in.audit({ who, what: "letter.resend", target: name, detail: `letter ${id}` });
    const nowMs = this.#in.nowMs();
    const isFound = this.#letters.resend(name, id, nowMs);
    if (isFound) this.#receivers.tryAt(name, nowMs);
    await this.#in.arm();
    return isFound;
  }

  mutes(): ListedMute[] {
    return this.#mutes.list(this.#in.nowMs());
  }

  async mute(mute: NewMute, who: string): Promise<Result<ListedMute, FieldFault>> {
    const fault = this.#mutes.faultOf(mute, this.#in.nowMs());
    if (fault) return failure(fault);
    const { names, selector, until } = mute;
    const detail = `until ${until}, names ${names || "any"}, labels ${selector || "any"}`;
    await this.#in.audit({ who, what: "mute.create", target: "mute", detail });
    return success(this.#mutes.create(mute, who, this.#in.nowMs()));
  }

  /** False: there is none. */
  async unmute(id: number, who: string): Promise<boolean> {
    if (!this.mutes().some((each) => each.id === id)) return false;
    await this.#in.audit({ who, what: "mute.end", target: `mute ${id}`, detail: "" });
    this.#mutes.end(id);
    this.#alerts.lookAgain(this.#in.nowMs());
    await this.#in.arm();
    return true;
  }

  async #run(): Promise<void> {
    const { nowMs, transaction } = this.#in;
    transaction(() => this.#alerts.flush(nowMs()));
    const due = this.#receivers.due(nowMs());
    const untilMs = nowMs() + TURN_MS;
    const deliver = async () => {
      for (let name = due.shift(); name !== undefined && nowMs() < untilMs; name = due.shift())
        await this.#deliver(name, untilMs);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, deliver));
  }

  /** Sends its letters in their order until one fails: those behind it wait as well. */
  async #deliver(name: string, untilMs: number): Promise<void> {
    const { nowMs, transaction } = this.#in;
    for (let isGoing = true; isGoing && nowMs() < untilMs;) {
      const [letter, target] = [this.#letters.first(name), this.#receivers.target(name)];
      if (!letter || !target) {
        this.#receivers.tryAt(name, null);
        return;
      }
      const outcome = await sendLetter(this.#in, target, letter);
      const { arrived, status, answer } = outcome;
      const error = status === null ? answer : `HTTP ${status}: ${answer}`;
      isGoing = arrived || (status !== null && isRefusedForGood(status));
      transaction(() => {
        if (arrived) this.#letters.arrived(letter.id);
        else if (isGoing) this.#letters.die(letter, error);
        else this.#letters.dieOfAge(name, error, nowMs());
        const nextMs = this.#letters.first(name) ? nowMs() : null;
        if (isGoing || nextMs === null) this.#receivers.succeeded(name, nextMs);
        else this.#receivers.failed(name, error, outcome.retryAfterMs, nowMs(), this.#in.random);
      });
    }
  }

  #repeatMinutes(name: string): number {
    return this.#receivers.all().find((each) => each.name === name)?.settings.repeatMinutes ?? 0;
  }

  /** Where its letters are to go, if it may be added or changed now. */
  #addressFor(name: string, { url }: ReceiverChange, isNew: boolean): Result<string, FieldFault | null> {
    const known = this.#receivers.target(name);
    if (isNew && known) return failure({ path: "/name", message: "there is a receiver of this name" });
    if (!isNew && !known) return failure(null);
    const address = webhookAddress(url ?? known?.url ?? "", this.#in.allowed);
    if (!address.ok) return failure({ path: "/url", message: address.error });
    const { receivers } = NOTIFICATION_LIMITS;
    if (isNew && this.#receivers.all().length >= receivers)
      return failure({ path: "", message: `there are ${receivers} receivers: remove one first` });
    return address;
  }

  #shown(name: string): ListedReceiver {
    const { settings } = this.#receivers.all().find((each) => each.name === name)!;
    const { url, authorization } = this.#receivers.target(name)!;
    const { next_ms, failing_since_ms, error, dropped } = this.#receivers.queue(name)!;
    const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
    return {
      name,
      ...settings,
      states: [...settings.states],
      url: `${new URL(url).origin}/…`,
      hasAuthorization: authorization !== "",
      waiting: this.#letters.waiting(name).letters,
      dead: this.#letters.dead(name),
      dropped,
      firing: this.#alerts.firing(name),
      failingSince: time(failing_since_ms),
      error,
      nextAttemptAt: time(next_ms),
    };
  }
}
