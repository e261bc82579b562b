"""A corpus of the engine as the value that the Repository page shows."""

from __future__ import annotations

from app.values.repository import (
    Amount,
    CorpusTotals,
    CorpusView,
    FileRow,
    LanguageShare,
    ReasonCount,
    SecretRow,
)


def corpus_view(corpus, overrides, seconds: float) -> CorpusView:
    """`corpus`: engine.corpus.corpus.Corpus; `overrides`: the user's choices that were applied."""
    totals = corpus.totals
    whole = sum(tally.tokens if corpus.has_tokens else tally.bytes for tally in totals.by_language.values())
    languages = [
        LanguageShare(name, _amount(tally), (tally.tokens if corpus.has_tokens else tally.bytes) / max(whole, 1))
        for name, tally in totals.by_language.items()
    ]
    languages.sort(key=lambda each: -each.share)
    reasons = sorted(totals.by_reason.items(), key=lambda item: (-item[1].files, item[0]))
    left_out = [tally for _, tally in reasons]
    off = {name for name, choice in overrides.languages.items() if choice == "leave"}
    off |= {verdict.language for verdict in corpus.files if verdict.reason == "language_off" and not verdict.learn}
    return CorpusView(
        root=str(corpus.root),
        files=tuple(map(_row, corpus.files)),
        by_language=tuple(languages),
        by_reason=tuple(ReasonCount(str(reason), reason.words, _amount(tally)) for reason, tally in reasons),
        totals=CorpusTotals(
            _amount(totals.all),
            _amount(totals.learned),
            _amount(totals.held_out),
            Amount(sum(tally.files for tally in left_out), sum(tally.bytes for tally in left_out)),
        ),
        secrets=tuple(SecretRow(s.path, s.line, s.kind, s.masked, s.fingerprint) for s in corpus.secrets),
        notes=corpus.notes,
        has_tokens=corpus.has_tokens,
        languages_off=tuple(sorted(off)),
        seconds=seconds,
    )


def _row(verdict) -> FileRow:
    reason = verdict.reason if verdict.reason and not verdict.learn else None
    return FileRow(
        verdict.path,
        verdict.language,
        verdict.size,
        verdict.tokens if verdict.learn else None,
        verdict.learn,
        str(reason) if reason else "",
        reason.words if reason else "",
        verdict.detail,
        verdict.held_out,
        verdict.overridden,
        len(verdict.masked_lines),
    )


def _amount(tally) -> Amount:
    return Amount(tally.files, tally.bytes, tally.tokens)
