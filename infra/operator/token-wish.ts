// From the flags of `token create` to what the Worker is asked for. Checks what only a command line can get wrong;
// the rest is the Worker's to refuse.
import { InvalidArgumentError } from "commander";
import { parseDuration } from "../../shared/go/duration.ts";
import type { TokenRequest } from "../../shared/protocol/join-tokens.ts";
import { valueOr } from "../../shared/result.ts";

export interface TokenFlags {
  names: string;
  /** Seconds. */
  expires: number;
  uses: number;
  rejoin?: boolean;
  withoutFactsOnlyTaint?: boolean;
  label?: Record<string, string>;
  taint?: NonNullable<TokenRequest["taints"]>;
  mayLabel?: string[];
  mayTaint?: string[];
  mayCondition?: string[];
  mayResource?: string[];
  mayAddress?: string[];
  mayCloud?: string[];
}

/** What a machine may: lists, of which "" alone stands for nothing at all. */
const MAY = ["mayLabel", "mayTaint", "mayCondition", "mayResource", "mayAddress", "mayCloud"] as const;

export function tokenWish(flags: TokenFlags): Partial<TokenRequest> {
  const { names, expires, uses, rejoin, withoutFactsOnlyTaint, label, taint } = flags;
  return {
    names,
    expiresInSeconds: expires,
    uses,
    ...(rejoin && { rejoin }),
    ...(withoutFactsOnlyTaint && { withoutFactsOnlyTaint }),
    ...(label && { labels: label }),
    ...(taint && { taints: taint }),
    ...Object.fromEntries(MAY.flatMap((may) => (flags[may] ? [[may, patterns(flags[may])]] : []))),
  };
}

const patterns = (texts: string[]) => texts.filter((text) => text !== "");

/** `90m`, `24h`: whole seconds. */
export function seconds(text: string): number {
  const durationMs = valueOr(parseDuration(text), 0);
  if (durationMs >= 1000 && durationMs % 1000 === 0) return durationMs / 1000;
  throw new InvalidArgumentError("must be a duration such as 90m or 24h.");
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (text !== "" && Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError("must be a whole number from 1.");
}

/** `key=value`, one more. */
export function label(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, key, value] = /^([^=]+)=(.*)$/.exec(text) ?? [];
  if (key === undefined || value === undefined) throw new InvalidArgumentError("must read KEY=VALUE.");
  return { ...before, [key]: value };
}

/** `key=value:Effect` or `key:Effect`, as kubectl writes them; one more. */
export function taint(text: string, before: TokenFlags["taint"] = []): NonNullable<TokenFlags["taint"]> {
  const [, key, value, effect] =
    /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text) ?? [];
  if (key === undefined || effect === undefined) {
    throw new InvalidArgumentError(
      "must read KEY=VALUE:EFFECT, with NoSchedule, PreferNoSchedule or NoExecute.",
    );
  }
  return [...before, { key, ...(value && { value }), effect: effect as "NoSchedule" }];
}

export function collect(text: string, before: string[] = []): string[] {
  return [...before, text];
}
