#!/usr/bin/env node
import "../dist/node-shim.js";
