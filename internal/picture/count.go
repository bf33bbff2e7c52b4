package picture

import (
	"encoding/base64"
	"io"
	"strings"
)

// The number of tokens of an image follows from its pixels by the vendor's rule. A rule here counts no less than the
// vendor, for any requested detail, and at most the vendor's count for the largest image.
//
//   - Anthropic: ceil(width/28) * ceil(height/28) after the image is reduced to 1568 tokens, or 4784 from Opus 4.7 on
//     (https://platform.claude.com/docs/en/build-with-claude/vision, "Resolution and token cost", quoted by a public
//     repository on 2026-08-20). Earlier the page had width * height / 750, up to about 1600. That yields more, and is
//     applied here too.
//   - OpenAI: patches of 32 by 32 pixels, times a factor of up to 2.46 by model, after the image is reduced to 1536,
//     2500 or 10,000 patches; GPT-5.6 and later do not reduce it and refuse more than 30,000. GPT-5, GPT-4o, GPT-4.1
//     and the o-series except o4-mini: the image is fitted into 2048 by 2048, its shorter side is reduced to 768, and
//     each tile of 512 by 512 is counted (https://developers.openai.com/api/docs/guides/images-vision, as quoted on
//     2026-09-25; gpt-6-luna counted an image of 2400 by 2400 as 6,783 input tokens, which is 1.2 per patch).
//   - Google: up to Gemini 2.5 a tile of 258 tokens for each part with sides of two thirds of the shorter side, or 768
//     pixels (https://ai.google.dev/gemini-api/docs/image-understanding); Gemini 3 up to 1120, and 2240 for ULTRA_HIGH
//     (https://ai.google.dev/gemini-api/docs/media-resolution, undated copies).
//
// Each page of a PDF document is an image, and its text counts in addition: "Each page typically uses 1,500-3,000
// tokens", and "since each page is converted into an image, the same image-based cost calculations are applied"
// (https://platform.claude.com/docs/en/build-with-claude/pdf-support, undated copy); OpenAI "extracts both text and
// page images" (https://developers.openai.com/api/docs/guides/pdf-files, quoted on 2026-08-20). Google counts only
// pages, 258 up to Gemini 2.5 and at most 1120 later: "You are not charged for tokens originating from the extracted
// native text" (https://ai.google.dev/gemini-api/docs/document-processing, undated copy).
const (
	// mostImage exceeds the number of tokens that models of other vendors count for an image.
	mostImage = 16 << 10
	// around bounds the tokens that mark the start, the end and the division of an image.
	around = 64

	claudePatch, claudeArea, claudeOld, claudeMost = 28, 750, 1600, 4784

	openAIPatch          = 32
	openAILeast          = 256 // patches of an image in low detail, which may be enlarged
	openAISmall          = 1536
	openAIMiddle         = 10_000
	openAIMost           = 30_000
	openAIPage           = 2500 // patches of a page, in high detail
	openAITimes          = 246  // in hundredths, the largest factor of all models
	openAITimesWhole     = 162  // of models that are neither mini nor nano, which no table of factors lists
	tileBase, tile       = 85, 170
	tileBaseMini, tileOf = 2833, 5667 // of GPT-4o mini, which differs much from all others
	tilesLong            = 4          // along 2048 pixels, in two rows

	geminiTile, geminiTileSide, geminiMost = 258, 768, 2240
)

// Rule determines how the models of a family count images, and documents that the vendor converts to images.
type Rule struct {
	of   func(Size) int64
	most int64 // for an image of unknown size
	page int64 // for a page of a document; 0 if unknown
	free bool  // only pages count, not the text of a document
}

// RuleOf returns the rule of a model by its name, which may include the vendor.
func RuleOf(model string) Rule {
	name := strings.ToLower(model)
	switch base := name[strings.LastIndexByte(name, '/')+1:]; {
	case strings.Contains(name, "claude"):
		most := int64(claudeMost)
		if isAny(name, claudeBefore47()) {
			most = claudeOld
		}
		return Rule{most: most, page: most, of: func(s Size) int64 { return min(most, claudePatches(s)) }}
	case strings.Contains(name, "gemini"):
		return Rule{most: mostImage, page: geminiPage(name), free: true, of: geminiTiles}
	case strings.Contains(name, "4o-mini"):
		return tiled(tileBaseMini, tileOf)
	case hasAnyPrefix(base, openAISmallNames()):
		return patched(openAISmall, openAITimes)
	case base == "gpt-5", hasAnyPrefix(base, openAITiledNames()):
		return tiled(tileBase, tile)
	case strings.HasPrefix(base, "gpt-5.4"), strings.HasPrefix(base, "gpt-5.5"):
		return patched(openAIMiddle, openAITimesWhole)
	default: // it may be a model of OpenAI under an operator's own name
		rule := patched(openAIMost, openAITimes)
		of, isOpenAI := rule.of, strings.HasPrefix(base, "gpt-")
		rule.of = func(s Size) int64 {
			if !isOpenAI {
				return max(mostImage, of(s))
			}
			return max(of(s), tiles(s, tileBase, tile))
		}
		if !isOpenAI {
			rule.page = 0
		}
		return rule
	}
}

// claudeBefore47 returns parts of the names of Anthropic's models before Opus 4.7, which count up to 1600 tokens for an
// image.
func claudeBefore47() []string {
	return []string{
		"claude-3", "claude-v", "claude-2", "sonnet-4", "haiku-4", "opus-4-0", "opus-4-1", "opus-4-2", "opus-4-5",
		"opus-4-6", "opus-4@",
	}
}

// openAISmallNames returns prefixes of the names of OpenAI's models that reduce an image to 1536 patches.
func openAISmallNames() []string {
	return []string{
		"gpt-4.1-mini", "gpt-4.1-nano", "o4-mini", "gpt-5-mini", "gpt-5-nano", "gpt-5.2", "gpt-5.4-mini",
		"gpt-5.4-nano",
	}
}

// openAITiledNames returns prefixes of the names of OpenAI's models that count tiles.
func openAITiledNames() []string {
	return []string{
		"gpt-4o", "chatgpt-4o", "gpt-4.1", "gpt-4.5", "gpt-4-", "gpt-5-2025", "gpt-5-chat", "o1", "o3",
		"computer-use",
	}
}

func isAny(name string, pieces []string) bool {
	for _, piece := range pieces {
		if strings.Contains(name, piece) {
			return true
		}
	}
	return false
}

func hasAnyPrefix(name string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// patched returns the rule of models that reduce an image to that many patches, or refuse a larger one, and count the
// given hundredths of a token per patch.
func patched(most, hundredths int64) Rule {
	times := func(patches int64) int64 { return (patches*hundredths + 99) / 100 }
	return Rule{most: times(most), page: times(min(most, openAIPage)), of: func(s Size) int64 {
		return times(min(most, max(openAILeast, parts(s.Width, openAIPatch)*parts(s.Height, openAIPatch))))
	}}
}

// tiled returns the rule of models that count tiles, with that many tokens each.
func tiled(base, each int64) Rule {
	most := base + 2*tilesLong*each
	return Rule{most: most, page: most, of: func(s Size) int64 { return tiles(s, base, each) }}
}

// tiles returns the count of an image with a shorter side of 768 pixels, which has two rows of tiles. It also counts
// two rows if the image has fewer.
func tiles(s Size, base, each int64) int64 {
	long, short := max(s.Width, s.Height), min(s.Width, s.Height)
	return base + 2*min(tilesLong, parts(3*long, 2*short))*each
}

// claudePatches returns Claude's count for an image without reduction.
func claudePatches(s Size) int64 {
	return max(parts(s.Width, claudePatch)*parts(s.Height, claudePatch), parts(s.Width*s.Height, claudeArea))
}

// geminiPage returns a Google model's count for a page at its default resolution.
func geminiPage(name string) int64 {
	if isAny(name, []string{"gemini-1", "gemini-2"}) {
		return geminiTile
	}
	return geminiMost / 2
}

// Closer returns the rule for a request that may choose a resolution.
func (rule Rule) Closer() Rule {
	if rule.free {
		rule.page = geminiMost
	}
	return rule
}

// geminiTiles returns Gemini's count for an image.
func geminiTiles(s Size) int64 {
	side := max(1, min(geminiTileSide, min(s.Width, s.Height)*2/3))
	return max(geminiMost, parts(s.Width, side)*parts(s.Height, side)*geminiTile)
}

// parts returns the number of parts of a size; the last part may be smaller.
func parts(n, size int64) int64 { return (n + size - 1) / size }

// Most returns the maximum count of an image of unknown size.
func (rule Rule) Most() int64 { return rule.most + around }

// Document returns the maximum count of a document with that many pages and bytes of text; 0 if the vendor's rule is
// unknown.
func (rule Rule) Document(pages, text int64) int64 {
	if rule.page == 0 {
		return 0
	}
	n := around + pages*(rule.page+around)
	if !rule.free {
		n += text
	}
	return n
}

// Count returns the maximum count of an image in base64.
func (rule Rule) Count(data string) int64 {
	head, err := io.ReadAll(io.LimitReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)), headSize))
	size, ok := Read(head)
	if err != nil || !ok {
		return rule.Most()
	}
	return rule.of(size) + around
}
