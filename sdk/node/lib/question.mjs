// What the clients ask, and what is true of the answers whatever provider gives
// them.
import { z } from "zod";

export const prompt = "Say it again, please";
export const longPrompt = "One by one these words come back, and each of them is a piece of the stream that nobody holds back or joins.";

// The simulator counts 85 input tokens for an image.
export const imageTokens = 85;
export const imageAddress = "https://example.com/cat.png";
export const imageBase64 =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
export const imageDataURL = `data:image/png;base64,${imageBase64}`;

// The tool that the models call: its name, and arguments that fit.
export const toolName = "weather";
export const toolText = "The weather in a city";
export const toolArguments = z.object({ city: z.string(), days: z.number().int() });
export const toolSchema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
  additionalProperties: false,
};

// The form that structured answers have.
export const person = z.object({ name: z.string(), height: z.number().int(), friends: z.array(z.string()) });
export const personSchema = {
  type: "object",
  properties: { name: { type: "string" }, height: { type: "integer" }, friends: { type: "array", items: { type: "string" } } },
  required: ["name", "height", "friends"],
  additionalProperties: false,
};

// What a token costs in every provider of the tests, in nano-dollars, and the
// same per million tokens as weir.yaml has it.
export const nano = { input: 150, output: 600 };
export const price = { input: "0.15", output: "0.60" };
