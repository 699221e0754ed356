// Explains why a connection failed, with the remedy. The shim, `rollcall` and `npm start` use this one table.
import { shownText } from "../../shared/protocol/printable.ts";
import { faultOf } from "./fault.ts";

const CLOSED =
  "the connection was closed before the answer was complete: check the proxies and firewalls on the way";
const NO_ROUTE = "no route leads to that address: check this machine's network, VPN and firewall";
const SILENT = "the address does not answer: check the URL, and the firewalls on the way";
const UNTRUSTED =
  "no trusted authority has signed the server's certificate: name the authority's file in NODE_EXTRA_CA_CERTS, or in node-shim's --ca-file";

/** The cause and the remedy, by the code of an error of Node.js or OpenSSL. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "no program listens at that address: check the URL, and that the server runs",
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  ENOTFOUND: "DNS does not have that name: check the URL, and this machine's DNS",
  EAI_AGAIN: "DNS does not answer: check this machine's network and DNS",
  ETIMEDOUT: SILENT,
  EHOSTUNREACH: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  EADDRNOTAVAIL: NO_ROUTE,
  EPROTO: "no TLS connection is possible: check the URL's scheme and port, and the proxies on the way",
  HPE: "the answer is not HTTP: check the URL's scheme and port, and the proxies on the way",
  CERT_HAS_EXPIRED: "the server's certificate has expired: renew it, or correct this machine's clock",
  CERT_NOT_YET_VALID: "the server's certificate is not valid yet: correct this machine's clock",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for other host names: check the URL",
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
};

/** The fields that errors of Node.js have, besides the message. */
interface NetworkError extends Error {
  code?: string;
  address?: string;
  port?: number;
  hostname?: string;
  /** The reason of OpenSSL, or the comparison of a host name with a certificate. */
  reason?: string;
}

/** Returns the cause and the remedy with the error's code, or the error's first line if the code is not in the table. */
export function networkFault(error: unknown): string {
  // Node.js tries several addresses of a name, and then throws all errors as one.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error)) return faultOf(error);
  const { code = "", address, port, hostname, reason } = first as NetworkError;
  const cause = CAUSES[code.startsWith("ERR_SSL_") ? "EPROTO" : code.startsWith("HPE_") ? "HPE" : code];
  if (cause === undefined) return faultOf(error);
  const at = address === undefined ? hostname : `${address}${port === undefined ? "" : `:${port}`}`;
  return shownText(`${cause} (${[code, at ?? reason].filter(Boolean).join(" ")})`, 4096);
}
