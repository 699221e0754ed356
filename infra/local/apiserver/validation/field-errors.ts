// Makes the errors of faulty fields, with upstream's texts (apimachinery/pkg/util/validation/field).
import { quote as goQuote } from "../../../../shared/go/strings.ts";
import type { FieldError } from "../status.ts";

/** Returns a value as Go prints it: a string in quotes, other values as JSON. */
function printed(value: unknown): string {
  return typeof value === "string" ? goQuote(value) : (JSON.stringify(value) ?? "null");
}

function describe(type: string, detail: string): string {
  return detail === "" ? type : `${type}: ${detail}`;
}

export function invalid(field: string, value: unknown, detail: string): FieldError {
  const message = describe(`Invalid value: ${printed(value)}`, detail);
  return { reason: "FieldValueInvalid", field, message };
}

/** Returns one error per detail. */
export function allInvalid(field: string, value: unknown, details: string[]): FieldError[] {
  return details.map((detail) => invalid(field, value, detail));
}

export function required(field: string, detail = ""): FieldError {
  return { reason: "FieldValueRequired", field, message: describe("Required value", detail) };
}

export function forbidden(field: string, detail: string): FieldError {
  return { reason: "FieldValueForbidden", field, message: describe("Forbidden", detail) };
}

export function duplicate(field: string, value: unknown, detail = ""): FieldError {
  const message = describe(`Duplicate value: ${printed(value)}`, detail);
  return { reason: "FieldValueDuplicate", field, message };
}

export function notSupported(field: string, value: unknown, supported: string[]): FieldError {
  const detail = `supported values: ${supported.map(printed).join(", ")}`;
  const message = describe(`Unsupported value: ${printed(value)}`, detail);
  return { reason: "FieldValueNotSupported", field, message };
}

export function tooLong(field: string, maximumBytes: number): FieldError {
  const message = `Too long: may not be more than ${maximumBytes} bytes`;
  return { reason: "FieldValueTooLong", field, message };
}

/** Returns the error if there is the fault, otherwise nothing. */
export function when(isFault: boolean, error: FieldError): FieldError[] {
  return isFault ? [error] : [];
}

export const immutableText = "field is immutable";
