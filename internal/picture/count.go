package picture

import (
	"encoding/base64"
	"io"
	"strings"
)

// What a model counts for an image goes by its vendor's rule, which says so for pixels. A rule here counts no less
// than the vendor's does, whatever detail is asked for, and at most what the vendor counts for the largest image.
//
//   - Anthropic: ceil(width/28) * ceil(height/28) after the image is made as small as 1568 tokens, or 4784 from Opus
//     4.7 on (https://platform.claude.com/docs/en/build-with-claude/vision, "Resolution and token cost", quoted by a
//     public repository on 2026-08-20). The page had width * height / 750, up to about 1600, before: it is more, and
//     counts here.
//   - OpenAI: patches of 32 by 32 pixels, times a factor of up to 2.46 by model, after the image is made as small as
//     1536, 2500 or 10,000 patches; GPT-5.6 and later leave it and refuse more than 30,000. GPT-5, GPT-4o, GPT-4.1
//     and the o-series but o4-mini: the image is fitted into 2048 by 2048, its shorter side made 768, and each tile
//     of 512 by 512 is counted (https://developers.openai.com/api/docs/guides/images-vision, as quoted on 2026-09-25;
//     an image of 2400 by 2400 was counted as 6,783 tokens of input by gpt-6-luna, which is 1.2 a patch).
//   - Google: up to Gemini 2.5 a tile of 258 tokens for each part whose side is two thirds of the shorter side, or
//     768 pixels (https://ai.google.dev/gemini-api/docs/image-understanding); Gemini 3 up to 1120, and 2240 for
//     ULTRA_HIGH (https://ai.google.dev/gemini-api/docs/media-resolution, undated copies).
//
// Of a document in PDF each page is an image, and its text counts beside it: "Each page typically uses 1,500-3,000
// tokens", and "since each page is converted into an image, the same image-based cost calculations are applied"
// (https://platform.claude.com/docs/en/build-with-claude/pdf-support, undated copy); OpenAI "extracts both text and
// page images" (https://developers.openai.com/api/docs/guides/pdf-files, quoted on 2026-08-20). Google counts pages
// alone, 258 up to Gemini 2.5 and at most 1120 after that: "You are not charged for tokens originating from the
// extracted native text" (https://ai.google.dev/gemini-api/docs/document-processing, undated copy).
const (
	// mostImage is more tokens than a model of another vendor counts for an image.
	mostImage = 16 << 10
	// around are the tokens that mark where an image begins and ends, and how it is parted.
	around = 64

	claudePatch, claudeArea, claudeOld, claudeMost = 28, 750, 1600, 4784

	openAIPatch          = 32
	openAILeast          = 256 // patches of an image in low detail, which may be made larger
	openAISmall          = 1536
	openAIMiddle         = 10_000
	openAIMost           = 30_000
	openAIPage           = 2500 // patches of a page, in high detail
	openAITimes          = 246  // in hundredths, the largest factor of any
	openAITimesWhole     = 162  // of models that are neither mini nor nano, which are in no table of factors
	tileBase, tile       = 85, 170
	tileBaseMini, tileOf = 2833, 5667 // of GPT-4o mini, which is far from all others
	tilesLong            = 4          // along 2048 pixels, in two rows

	geminiTile, geminiTileSide, geminiMost = 258, 768, 2240
)

// Rule is how the models of a family count images, and documents that their vendor makes images of.
type Rule struct {
	of   func(Size) int64
	most int64 // of an image whose size is not known
	page int64 // of a page of a document; 0 where that is not known
	free bool  // the text of a document is not counted beside its pages
}

// RuleOf is the rule for a model, by its name, which may have a vendor before it.
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
	default: // it may be one of OpenAI's under a name of the operator's own
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

// claudeBefore47 are pieces of the names of Anthropic's models before Opus 4.7, all of which count up to 1600 tokens
// for an image.
func claudeBefore47() []string {
	return []string{
		"claude-3", "claude-v", "claude-2", "sonnet-4", "haiku-4", "opus-4-0", "opus-4-1", "opus-4-2", "opus-4-5",
		"opus-4-6", "opus-4@",
	}
}

// openAISmallNames are how the names begin of OpenAI's models that make an image as small as 1536 patches.
func openAISmallNames() []string {
	return []string{
		"gpt-4.1-mini", "gpt-4.1-nano", "o4-mini", "gpt-5-mini", "gpt-5-nano", "gpt-5.2", "gpt-5.4-mini",
		"gpt-5.4-nano",
	}
}

// openAITiledNames are how the names begin of OpenAI's models that count tiles.
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

// patched is the rule of models that make an image as small as so many patches, or refuse it, and count so many
// hundredths of a token for each.
func patched(most, hundredths int64) Rule {
	times := func(patches int64) int64 { return (patches*hundredths + 99) / 100 }
	return Rule{most: times(most), page: times(min(most, openAIPage)), of: func(s Size) int64 {
		return times(min(most, max(openAILeast, parts(s.Width, openAIPatch)*parts(s.Height, openAIPatch))))
	}}
}

// tiled is the rule of models that count tiles at so many tokens each.
func tiled(base, each int64) Rule {
	most := base + 2*tilesLong*each
	return Rule{most: most, page: most, of: func(s Size) int64 { return tiles(s, base, each) }}
}

// tiles is what an image counts whose shorter side is 768 pixels, and so two tiles, also where it has fewer.
func tiles(s Size, base, each int64) int64 {
	long, short := max(s.Width, s.Height), min(s.Width, s.Height)
	return base + 2*min(tilesLong, parts(3*long, 2*short))*each
}

// claudePatches is what Claude counts for an image that is not made smaller.
func claudePatches(s Size) int64 {
	return max(parts(s.Width, claudePatch)*parts(s.Height, claudePatch), parts(s.Width*s.Height, claudeArea))
}

// geminiPage is what a model of Google's counts for a page at its own choice of resolution.
func geminiPage(name string) int64 {
	if isAny(name, []string{"gemini-1", "gemini-2"}) {
		return geminiTile
	}
	return geminiMost / 2
}

// Closer is the rule for a request that may choose a resolution.
func (rule Rule) Closer() Rule {
	if rule.free {
		rule.page = geminiMost
	}
	return rule
}

// geminiTiles is what Gemini counts for an image.
func geminiTiles(s Size) int64 {
	side := max(1, min(geminiTileSide, min(s.Width, s.Height)*2/3))
	return max(geminiMost, parts(s.Width, side)*parts(s.Height, side)*geminiTile)
}

// parts is how many parts of a size something has, the last of which may be smaller.
func parts(n, size int64) int64 { return (n + size - 1) / size }

// Most is the most that an image can count whose size is not known.
func (rule Rule) Most() int64 { return rule.most + around }

// Document is the most that a document can count that has so many pages and so many bytes of text. It is 0 where it
// is not known what the vendor makes of one.
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

// Count is the most that an image in base64 can count.
func (rule Rule) Count(data string) int64 {
	head, err := io.ReadAll(io.LimitReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)), headSize))
	size, ok := Read(head)
	if err != nil || !ok {
		return rule.Most()
	}
	return rule.of(size) + around
}
