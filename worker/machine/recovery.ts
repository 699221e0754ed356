// A machine whose object was lost: the registry still has its pin, and the machine its kid, so that it goes on without a
// visit. Decides nothing about a machine whose object knows one.
import type { Result } from "../../shared/result.ts";
import { type Environment, origins, registry } from "../env.ts";
import { importPublicKey, type MachineAction } from "../identity/jwt.ts";
import { inTime } from "../kube/deadline.ts";
import type { GrantedPin, HeldPin } from "../registry/pins.ts";
import { type Refusal, UNAUTHENTICATED } from "./answers.ts";
import type { MachineState } from "./machine-state.ts";
import { type SignedRequest, type VerifiedRequest, verifySigned } from "./pinned-keys.ts";
import { SILENCE_CHECK_MS } from "./silence.ts";
import { currentMs } from "../clock.ts";

/** The machine's request waits for the registry meanwhile. */
const ASK_WITHIN_MS = 3000;
/** For so long the registry's answer counts, so that whoever repeats a kid without its key does not reach the registry. */
const KEPT_MS = 10_000;

type RecoverablePin = GrantedPin & Pick<HeldPin, "nextKey">;

export class Recovery {
  readonly #env: Environment;
  readonly #state: Pick<MachineState, "records" | "keys" | "journal" | "alarm">;
  #asked: { by: string; untilMs: number; pin: Promise<RecoverablePin | null> } | undefined;

  constructor(env: Environment, state: Pick<MachineState, "records" | "keys" | "journal" | "alarm">) {
    this.#env = env;
    this.#state = state;
  }

  /** Did one of this machine's keys sign exactly this? An object that was lost follows the registry's pin first. */
  async verify(request: SignedRequest, action: MachineAction): Promise<Result<VerifiedRequest, Refusal>> {
    const configured = origins(this.#env);
    if (this.#isLost()) {
      const refused = await this.#recover(request, action, configured);
      if (refused) return refused;
    }
    return this.#state.keys.verify(request, action, configured);
  }

  #isLost(): boolean {
    const { records } = this.#state;
    return !records.get("enrolment") && !records.get("isLeaving");
  }

  /** Returns the refusal, if there is one. A kid is no secret: nothing is stored for one whose key did not sign. */
  async #recover(request: SignedRequest, action: MachineAction, configured: string[]) {
    const { keys, journal, alarm } = this.#state;
    const [, thumbprint = "", enrolment = ""] = request.kid.split(".");
    const pin = await this.#pinOf(request.name, thumbprint);
    const key = pin && keyOf(pin, thumbprint);
    if (!pin || !key) return UNAUTHENTICATED;
    const signed = await verifySigned(request, await importPublicKey(key), { action, origins: configured });
    if (!signed.ok) return signed;
    // Two requests may have waited for the same answer.
    const nowMs = currentMs();
    if (!this.#isLost() || !keys.follow(pin, enrolment, nowMs)) return null;
    const { nextThumbprint, nextKey } = pin;
    if (nextThumbprint !== null && nextKey) keys.prepare({ key: nextKey, thumbprint: nextThumbprint });
    journal.note("registration", RECOVERED, nowMs);
    await alarm.unlessSet(nowMs + SILENCE_CHECK_MS);
    return null;
  }

  #pinOf(name: string, thumbprint: string): Promise<RecoverablePin | null> {
    const nowMs = currentMs();
    if (this.#asked?.by === thumbprint && nowMs < this.#asked.untilMs) return this.#asked.pin;
    const ask = () => registry(this.#env).pinnedTo(name, thumbprint);
    const pin = inTime<RecoverablePin | null>(ASK_WITHIN_MS, ask);
    const asked = { by: thumbprint, untilMs: nowMs + KEPT_MS, pin };
    this.#asked = asked;
    // No answer is none: the next request asks again.
    pin.catch(() => {
      if (this.#asked === asked) this.#asked = undefined;
    });
    return pin;
  }
}

const RECOVERED = "what was known of this machine was lost: it goes on by the registry's pin";

/** undefined: the registry was never told it, as by versions before 0.2. */
function keyOf({ machine, nextKey, nextThumbprint }: RecoverablePin, thumbprint: string): string | undefined {
  const key = thumbprint === nextThumbprint ? nextKey : machine.key;
  // The object has to know the machine's own key, whichever signs.
  return (machine.key && key) || undefined;
}
