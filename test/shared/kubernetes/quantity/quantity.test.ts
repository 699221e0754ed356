import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addQuantities,
  compareQuantities,
  roundUpQuantity,
  subtractQuantities,
} from "../../../../shared/kubernetes/quantity/arithmetic.ts";
import {
  mustParseQuantity,
  parseQuantity,
  quantitiesEqual,
} from "../../../../shared/kubernetes/quantity/parse.ts";
import { quantityText } from "../../../../shared/kubernetes/quantity/text.ts";
import { newQuantity, type Quantity } from "../../../../shared/kubernetes/quantity/quantity.ts";
import { negateQuantity, newScaledQuantity } from "../../../vectors/upstream/quantity.ts";
import { failure } from "../../../../shared/result.ts";

const unscaled = fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }));
/** Generates quantities from nano up to the largest scale at which every int64 has an SI suffix. */
const quantity: fc.Arbitrary<Quantity> = fc.oneof(
  fc
    .tuple(unscaled, fc.integer({ min: -9, max: 0 }))
    .map(([value, scale]) => newScaledQuantity(value, scale)),
  fc
    .tuple(unscaled, fc.constantFrom("DecimalSI" as const, "BinarySI" as const, "DecimalExponent" as const))
    .map(([value, format]) => newQuantity(value, format)),
);

const alike = (a: Quantity, b: Quantity) => compareQuantities(a, b) === 0;

describe("for any quantity of nano or coarser", () => {
  test("reading what was printed gives the same amount", () => {
    fc.assert(fc.property(quantity, (q) => alike(mustParseQuantity(quantityText(q)), q)));
  });

  test("printing a parsed text twice changes nothing more", () => {
    fc.assert(
      fc.property(quantity, (q) => {
        // As in Go, a binary quantity without a suffix is parsed as a decimal one, so that 1000 becomes 1k.
        const text = quantityText(mustParseQuantity(quantityText(q)));
        expect(quantityText(mustParseQuantity(text))).toBe(text);
      }),
    );
  });

  test("a + b − b is a", () => {
    fc.assert(
      fc.property(quantity, quantity, (a, b) => alike(subtractQuantities(addQuantities(a, b), b), a)),
    );
  });

  test("a − b is a + (−b)", () => {
    fc.assert(
      fc.property(quantity, quantity, (a, b) =>
        alike(subtractQuantities(a, b), addQuantities(a, negateQuantity(b))),
      ),
    );
  });

  test("comparing is the sign of the difference", () => {
    fc.assert(
      fc.property(quantity, quantity, (a, b) => {
        const difference = subtractQuantities(a, b).unscaled;
        expect(compareQuantities(a, b)).toBe(difference > 0 ? 1 : difference < 0 ? -1 : 0);
      }),
    );
  });

  test("no operation changes its operands", () => {
    fc.assert(
      fc.property(quantity, quantity, (a, b) => {
        const [before, other] = [{ ...a }, { ...b }];
        addQuantities(a, b);
        subtractQuantities(a, b);
        negateQuantity(a);
        roundUpQuantity(a, 3);
        quantityText(a);
        expect([a, b]).toEqual([before, other]);
      }),
    );
  });
});

test("the fast parser for plain numbers gives the same as the general one", () => {
  const suffix = fc.constantFrom("", "m", "Ki", "Mi", "Gi", "k");
  const digits = fc.bigInt({ min: 1n, max: 10n ** 17n });
  fc.assert(
    fc.property(digits, suffix, (digits, suffix) => {
      const short = mustParseQuantity(`${digits}${suffix}`);
      // The sign selects the general parser, because the fast one reads no sign.
      const long = mustParseQuantity(`+${digits}${suffix}`);
      expect({ ...short, text: short.text && `+${short.text}` }).toEqual(long);
    }),
  );
});

describe("equal by value", () => {
  test.each([
    ["the same text", "1Gi", "1Gi", true],
    ["another notation", "1Gi", "1048576Ki", true],
    ["cores and thousandths", "2", "2000m", true],
    ["one byte apart", "1Gi", "1073741825", false],
    ["one apart above 2^53", "9007199254740993", "9007199254740992", false],
    ["texts that are no quantities", "abc", "abc", true],
    ["a quantity and a text that is none", "1", "one", false],
  ])("%s", (_, a, b, equal) => {
    expect(quantitiesEqual(a, b)).toBe(equal);
    expect(quantitiesEqual(b, a)).toBe(equal);
  });
});

describe("an exponent whose digits would fill the memory", () => {
  const far = mustParseQuantity("1e2147483001");

  test.each([
    ["printed", quantityText(far), "1e2147483001"],
    ["with one added", quantityText(addQuantities(far, mustParseQuantity("1"))), "1e2147483001"],
    ["taken from one", quantityText(subtractQuantities(mustParseQuantity("1e0"), far)), "-1e2147483001"],
    ["compared with one", compareQuantities(mustParseQuantity("1"), far), -1],
    ["compared with its negative", compareQuantities(far, negateQuantity(far)), 1],
    ["below nano", quantityText(mustParseQuantity("1e-2147483001")), "1e-9"],
  ])("%s", (_, got, want) => {
    expect(got).toBe(want);
  });

  test("of a number with many digits", () => {
    const digits = "9".repeat(25);
    expect(quantityText(mustParseQuantity(`${digits}e2147483001`))).toBe(`${digits}e2147483001`);
  });

  test.each(["1Ki", "1", "1m", "1e1"])("added to %s", (text) => {
    expect(quantityText(addQuantities(mustParseQuantity(text), far))).toMatch(/^1(e2147483001)?$/);
  });
});

test("a long text that is no quantity is refused in linear time", () => {
  expect(parseQuantity(`${"0".repeat(100_000)}x`)).toEqual(
    failure(expect.stringMatching(/^quantities must match/)),
  );
  expect(parseQuantity(`1e${"9".repeat(10_000)}`)).toEqual(failure("unable to parse quantity's suffix"));
});
