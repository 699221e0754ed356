// From the flags of `token create` to what the Worker is asked for. Checks what only a command line can get wrong;
// the rest is the Worker's to refuse.
import { InvalidArgumentError } from "commander";
import { parseDuration } from "../../shared/go/duration.ts";
import { movedTo } from "../../shared/node/ownership.ts";
import type { TokenRequest } from "../../shared/protocol/join-tokens.ts";
import { TOKEN_LIMITS } from "../../shared/protocol/limits.ts";
import { valueOr } from "../../shared/result.ts";

const DAY_SECONDS = 86_400;

export interface TokenFlags {
  names: string;
  /** Seconds. */
  expiresIn: number;
  uses: number;
  rejoin?: boolean;
  withoutFactsOnlyTaint?: boolean;
  label?: Record<string, string>;
  taint?: NonNullable<TokenRequest["taints"]>;
  role?: string[];
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
  const { names, expiresIn, uses, rejoin, withoutFactsOnlyTaint, label, taint, role } = flags;
  return {
    names,
    expiresInSeconds: expiresIn,
    uses,
    ...(rejoin && { rejoin }),
    ...(withoutFactsOnlyTaint && { withoutFactsOnlyTaint }),
    ...(label && { labels: label }),
    ...(taint && { taints: taint }),
    ...(role && { roles: patterns(role) }),
    ...Object.fromEntries(MAY.flatMap((may) => (flags[may] ? [[may, patterns(flags[may])]] : []))),
  };
}

/** A line for each label that a Node has under another key, if it runs no pods. */
export function movedLines({ label = {}, withoutFactsOnlyTaint }: TokenFlags): string[] {
  return Object.keys(label).flatMap((key) => {
    const own = movedTo(key);
    if (own === undefined) return [];
    const nodes = withoutFactsOnlyTaint
      ? "Nodes with the taint rollcall.dev/facts-only have"
      : "its Nodes have";
    return `${nodes} the label ${key} as ${own}: under that key nothing counts them for pods`;
  });
}

/** Which flag says what of the request's body. */
export const TYPED = {
  names: "--names",
  expiresInSeconds: "--expires-in",
  uses: "--uses",
  rejoin: "--rejoin",
  withoutFactsOnlyTaint: "--without-facts-only-taint",
  labels: "--label",
  taints: "--taint",
  roles: "--role",
  mayLabel: "--may-label",
  mayTaint: "--may-taint",
  mayCondition: "--may-condition",
  mayResource: "--may-resource",
  mayAddress: "--may-address",
  mayCloud: "--may-cloud",
} satisfies Record<keyof TokenRequest, string>;

const patterns = (texts: string[]) => texts.filter((text) => text !== "");

/** `90m`, `24h`, `7d`, `1d12h`: whole seconds. Go's durations have no days; people's do. */
export function seconds(text: string): number {
  const [, days, rest] = /^(?:(\d+)d)?(.*)$/.exec(text) ?? [];
  const restMs = rest === "" && days !== undefined ? 0 : valueOr(parseDuration(rest ?? ""), Number.NaN);
  const all = Number(days ?? 0) * DAY_SECONDS + restMs / 1000;
  if (Number.isSafeInteger(all) && all >= 1 && all <= TOKEN_LIMITS.expiresInSeconds) return all;
  const most = TOKEN_LIMITS.expiresInSeconds / DAY_SECONDS;
  throw new InvalidArgumentError(`must be a duration such as 90m, 24h or 7d; from 1s to ${most}d.`);
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
