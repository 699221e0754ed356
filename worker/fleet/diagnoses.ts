// Adds a machine's own diagnosis to the deliveries of receivers that want it. A message waits in a table until the machine
// has answered. Each attempt to deliver therefore sends the same text.
import {
  type Alert,
  type AlertMessage,
  type MachineDiagnosis,
  messageText,
} from "../../shared/fleet/alert.ts";
import type { Timer } from "../clock.ts";
import { withDeadline } from "../kube/deadline.ts";
import { column } from "../storage/query.ts";
import { RATE_LIMITS, take, type TokenBucket } from "../storage/token-bucket.ts";
import type { KeptReceiver } from "./receivers.ts";

/** Creates the table of the deliveries that lack a diagnosis. `message`: the AlertMessage as JSON. */
export const DIAGNOSES_MIGRATION =
  "CREATE TABLE undiagnosed (letter INTEGER PRIMARY KEY, message TEXT NOT NULL);";

/** A question to a machine for a receiver. */
export interface DiagnosisWish {
  machine: string;
  receiver: string;
}

export interface DiagnosesSurroundings {
  sql: SqlStorage;
  /** Runs `work` in one transaction; typically the storage's transactionSync. */
  transaction: <T>(work: () => T) => T;
  nowMs: () => number;
  /** The object's timer. */
  timer: Timer | undefined;
  /** Asks a machine for its diagnosis. May reject. */
  diagnose: (wish: DiagnosisWish, signal: AbortSignal) => Promise<MachineDiagnosis>;
  /** Returns the number of silent machines in active outages. */
  silentInOutages: () => number;
}

/** The time after which a delivery is sent without a diagnosis. A machine answers within five seconds. */
export const DIAGNOSED_WITHIN_MS = 8000;
/** The silent machines in outages from which the Worker asks none: operators know the cause already. */
export const MANY_SILENT = 10;
/** The age from which a message gets no diagnosis: the machine's present state may not be that of the message. */
const STALE_MS = 2 * 60_000;

const none = (why: string): MachineDiagnosis => ({ findings: [], none: why });

export class Diagnoses {
  readonly #in: DiagnosesSurroundings;
  /** The token bucket of the deployment. An eviction loses it: the registry has limits of its own. */
  #bucket: TokenBucket | undefined;

  constructor(surroundings: DiagnosesSurroundings) {
    this.#in = surroundings;
  }

  /** Notes that a new delivery needs a diagnosis. Call note in the transaction of the delivery. */
  note({ settings }: KeptReceiver, delivery: number, message: AlertMessage): void {
    if (!settings.withDiagnosis || !message.alerts.some(isAskedAbout)) return;
    const { sql } = this.#in;
    // An earlier Worker sends and deletes such deliveries without this table.
    sql.exec("DELETE FROM undiagnosed WHERE letter NOT IN (SELECT id FROM letters)");
    sql.exec("INSERT INTO undiagnosed VALUES (?, ?)", delivery, JSON.stringify(message));
  }

  /** Asks the machines of a delivery, and stores their answers in its body. Returns false if the delivery is complete. */
  async complete({ name, settings }: KeptReceiver, delivery: number): Promise<boolean> {
    const { sql, transaction } = this.#in;
    const [stored] = column<string>(sql, "SELECT message FROM undiagnosed WHERE letter = ?", delivery);
    if (stored === undefined) return false;
    const message = JSON.parse(stored) as AlertMessage;
    const isStale = this.#in.nowMs() - message.atMs > STALE_MS;
    const diagnosed = async (alert: Alert): Promise<Alert> => {
      if (!isAskedAbout(alert)) return alert;
      const wish = { machine: alert.name, receiver: name };
      return { ...alert, diagnosis: isStale ? none("this message had to wait") : await this.#ask(wish) };
    };
    const alerts = await Promise.all(message.alerts.map(diagnosed));
    const body = messageText(settings.format, { ...message, alerts });
    transaction(() => {
      sql.exec("UPDATE letters SET body = ? WHERE id = ?", body, delivery);
      sql.exec("DELETE FROM undiagnosed WHERE letter = ?", delivery);
    });
    return true;
  }

  async #ask(wish: DiagnosisWish): Promise<MachineDiagnosis> {
    const { diagnose, silentInOutages, nowMs, timer } = this.#in;
    if (silentInOutages() >= MANY_SILENT) return none("an outage of many machines lasts");
    const { isTaken, bucket } = take(this.#bucket, RATE_LIMITS.diagnoses, nowMs());
    this.#bucket = bucket;
    if (!isTaken) return none(`more than ${RATE_LIMITS.diagnoses.atOnce} machines have failed at once`);
    const late = none(`no answer within ${DIAGNOSED_WITHIN_MS / 1000} s`);
    const ask = (signal: AbortSignal) => diagnose(wish, signal);
    return withDeadline(DIAGNOSED_WITHIN_MS, ask, late, timer).catch(() =>
      none("the Worker could not ask the machine"),
    );
  }
}

/** Reports whether the alert gets a diagnosis. A repetition gets none. */
const isAskedAbout = ({ kind, status, state, isRepeated }: Alert) =>
  kind === "machine" && status === "firing" && state === "not-ready" && !isRepeated;
