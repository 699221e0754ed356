// Reads and writes gRPC's status codes: headers, percent-encoding, codes of HTTP and HTTP/2.
import { type Failure, failure } from "../../../shared/result.ts";
import { constants } from "node:http2";

/** The status codes by number, with Go's names. */
const CODES = [
  "OK",
  "Canceled",
  "Unknown",
  "InvalidArgument",
  "DeadlineExceeded",
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "ResourceExhausted",
  "FailedPrecondition",
  "Aborted",
  "OutOfRange",
  "Unimplemented",
  "Internal",
  "Unavailable",
  "DataLoss",
  "Unauthenticated",
] as const;
export type Code = Exclude<(typeof CODES)[number], "OK">;

export interface Fault {
  code: Code;
  message: string;
}

export function fault(code: Code, message: string): Failure<Fault> {
  return failure({ code, message });
}

/** Returns a fault as one line, as Go's status.Error prints it. */
export function faultText({ code, message }: Fault): string {
  return `rpc error: code = ${code} desc = ${message}`;
}

/** Returns the fault in the headers; null for OK, undefined if the headers have no status. */
export function statusOf(headers: Readonly<Record<string, unknown>>): Fault | null | undefined {
  const status = headers["grpc-status"];
  if (typeof status !== "string") return undefined;
  const text = headers["grpc-message"];
  const message = typeof text === "string" ? percentDecode(text) : "";
  const code = /^\d{1,2}$/.test(status) ? CODES[Number(status)] : undefined;
  if (code === "OK") return null;
  return code ? { code, message } : { code: "Unknown", message: message || `status ${status.slice(0, 20)}` };
}

export function statusHeaders(fault: Fault | null): Record<string, string> {
  if (fault === null) return { "grpc-status": "0" };
  return {
    "grpc-status": String(CODES.indexOf(fault.code)),
    ...(fault.message !== "" && { "grpc-message": percentEncode(fault.message) }),
  };
}

/** Returns the fault for an HTTP status without a gRPC status (grpc/doc/http-grpc-status-mapping.md). */
export function faultOfHttpStatus(status: number | undefined): Fault {
  const codes: Record<number, Code> = {
    400: "Internal",
    401: "Unauthenticated",
    403: "PermissionDenied",
    404: "Unimplemented",
    429: "Unavailable",
    502: "Unavailable",
    503: "Unavailable",
    504: "Unavailable",
  };
  const code = codes[status ?? 0] ?? "Unknown";
  return { code, message: `unexpected HTTP status code received from server: ${status ?? "none"}` };
}

/** Returns the fault for the code of a reset stream (grpc/doc/PROTOCOL-HTTP2.md). */
export function faultOfReset(http2Code: number): Fault {
  const codes: Record<number, Code> = {
    [constants.NGHTTP2_REFUSED_STREAM]: "Unavailable",
    [constants.NGHTTP2_CANCEL]: "Canceled",
    [constants.NGHTTP2_ENHANCE_YOUR_CALM]: "ResourceExhausted",
    [constants.NGHTTP2_INADEQUATE_SECURITY]: "PermissionDenied",
  };
  const message = `stream terminated by RST_STREAM with error code: ${http2Code}`;
  return { code: codes[http2Code] ?? "Internal", message };
}

/** Returns the value of the grpc-timeout header, which has at most eight digits. */
export function timeoutHeader(deadlineMs: number): string {
  const milliseconds = Math.max(1, Math.ceil(deadlineMs));
  return milliseconds < 1e8 ? `${milliseconds}m` : `${Math.min(Math.ceil(milliseconds / 1000), 99_999_999)}S`;
}

function percentEncode(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) =>
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCodePoint(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
    )
    .join("");
}

/** Decodes percent-encoding. Keeps text that is not encoded, and replaces invalid UTF-8. */
function percentDecode(text: string): string {
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const hex = /^%[0-9a-fA-F]{2}/.exec(text.slice(at, at + 3));
    if (hex) {
      bytes.push(Number.parseInt(hex[0].slice(1), 16));
      at += 2;
    } else bytes.push(...Buffer.from(text.charAt(at), "latin1"));
  }
  return Buffer.from(bytes).toString("utf8");
}
