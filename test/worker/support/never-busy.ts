// Turns off the local Worker's admission. Cloudflare refuses no request because a computer is busy: with an entry that
// imports this file, each refusal is the Worker's own. This file has no test of its own.
import { ADMISSION } from "../../../infra/local/admission.ts";

Object.assign(ADMISSION, { busyMs: Infinity, slowMs: Infinity });
