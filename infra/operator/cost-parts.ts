// The prices of a fleet's parts, in dollars a month. `npm run generate` writes this file and docs/costs.md.

export const COST_PARTS = {
  transports: {
    HTTP: { once: 9.24, eachMachine: 0.149, eachGateway: null },
    sockets: { once: 9.24, eachMachine: 0.00414, eachGateway: 5.24 },
  },
  gatewaySize: 500,
  leasePutsAnHour: 373,
};
