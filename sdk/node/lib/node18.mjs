// Node 18, which is Debian 12's, has the Web Crypto API in a module alone;
// LangChain wants it where Node 20 has it.
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;
