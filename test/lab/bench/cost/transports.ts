// Lists the transports of reports, in the order of the output.
import { httpMachines } from "./http-machines.ts";
import { socketMachines } from "./socket-machines.ts";
import type { CostTransport } from "./transport.ts";

export const TRANSPORTS: readonly CostTransport[] = [httpMachines, socketMachines];
