// The ticks beside a line, and what its last amount comes to, in a sentence. Pure.
import { amountScale, amountText, type AmountUnit, digits } from "../base/amounts.ts";
import type { LineSubject } from "./lines-data.ts";

export interface AmountTick {
  amount: number;
  text: string;
}

/** About `wanted` ticks from 0 up to `top`, at 1, 2 or 5 of a power of ten of the unit that `top` is said in. */
export function amountTicks(top: number, unit: AmountUnit, wanted: number): AmountTick[] {
  if (!(top > 0)) return [{ amount: 0, text: "0" }];
  const { factor, word } = amountScale(top, unit);
  const rough = top / factor / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power;
  const count = Math.floor(top / factor / step + 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => {
    const amount = index * step * factor;
    return {
      amount,
      text: index === 0 ? "0" : `${digits(Number((index * step).toPrecision(12)))}${word}`,
    };
  });
}

/** From 0 up to what holds the line and what it is compared with; never more than there is. */
export function topOf(
  values: readonly (number | null)[],
  { capacity, thresholds }: { capacity: number | null; thresholds: readonly (number | null)[] },
): number {
  let most = 0;
  for (const value of [...thresholds, ...values]) if (value !== null && value > most) most = value;
  const roomy = most * 1.12;
  const top = capacity !== null && capacity >= most ? Math.min(capacity, roomy) : roomy;
  return top > 0 ? top : (capacity ?? 1) || 1;
}

export interface SaidAmounts {
  amount: number | null;
  capacity: number | null;
  hard: number | null;
  soft: number | null;
  /** Is the machine under pressure now? What is less than a threshold may be over, or in its grace period. */
  isUnder: boolean;
}

/** `412 MiB of 31 GiB; memory pressure below 100 MiB (soft: 500 MiB)` */
export function amountSentence({ unit, pressure }: LineSubject, said: SaidAmounts): string {
  const { amount, capacity, hard, soft, isUnder } = said;
  const say = (value: number) => amountText(value, unit);
  const now = amount === null ? "not known" : say(amount);
  const whole = capacity === null ? now : `${now} of ${say(capacity)}`;
  const [first, second] = [hard, soft].filter((each) => each !== null);
  const under = isUnder ? `${whole}; under ${pressure}` : whole;
  if (first === undefined) return under;
  const softly = second === undefined ? "" : ` (soft: ${say(second)})`;
  return isUnder
    ? `${under}: below ${say(first)}${softly}`
    : `${whole}; ${pressure} below ${say(first)}${softly}`;
}
