//! Programs as people write them.
//! What each does is in the documentation of [`spec`](super).

use super::Fault;
use crate::program::Op;
use crate::quantity::{size_bytes, time_ns};
use std::collections::BTreeMap;
use std::ops::Range;

/// Loops in loops.
const DEEPEST: u8 = 4;

/// What steps refer to by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Names<'a> {
    pub(super) pipes: BTreeMap<&'a str, u32>,
    pub(super) locks: BTreeMap<&'a str, u32>,
    pub(super) conditions: BTreeMap<&'a str, u32>,
    pub(super) barriers: BTreeMap<&'a str, u32>,
    pub(super) teams: BTreeMap<&'a str, u32>,
    pub(super) semaphores: BTreeMap<&'a str, u32>,
    pub(super) templates: BTreeMap<&'a str, u32>,
    pub(super) applications: BTreeMap<&'a str, u32>,
}

/// A piece of a program, and where in the file each of its bytes is.
#[derive(Clone, Debug)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    /// Where the text begins; `exact` if what follows is there byte by byte, without escapes.
    pub(super) from: usize,
    pub(super) exact: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Open,
    Close,
    End,
}

/// The steps of a program.
pub(super) fn parse(pieces: &[Piece<'_>], names: &Names<'_>) -> Result<Vec<Op>, Fault> {
    let mut tokens = Vec::new();
    for piece in pieces {
        tokenize(piece, &mut tokens);
    }
    let mut parser = Parser { tokens: &tokens, place: 0, names, ops: Vec::new(), depth: 0 };
    parser.steps(None)?;
    Ok(parser.ops)
}

fn tokenize<'a>(piece: &Piece<'a>, tokens: &mut Vec<(Token<'a>, Range<usize>)>) {
    let at = |range: Range<usize>| {
        if piece.exact { piece.from + range.start..piece.from + range.end } else { piece.from..piece.from }
    };
    let mut from = 0;
    for line in piece.text.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or("");
        let mut word: Option<usize> = None;
        for (place, character) in code.char_indices().chain([(code.len(), '\n')]) {
            let token = match character {
                '{' => Some(Token::Open),
                '}' => Some(Token::Close),
                ';' | '\n' => Some(Token::End),
                _ if character.is_whitespace() => None,
                _ => {
                    word.get_or_insert(place);
                    continue;
                }
            };
            if let Some(start) = word.take() {
                tokens.push((Token::Word(&code[start..place]), at(from + start..from + place)));
            }
            if let Some(token) = token {
                tokens.push((token, at(from + place..from + place + 1)));
            }
        }
        from += line.len();
    }
    tokens.push((Token::End, at(from..from)));
}

struct Parser<'a, 'n> {
    tokens: &'a [(Token<'a>, Range<usize>)],
    place: usize,
    names: &'a Names<'n>,
    ops: Vec<Op>,
    depth: u8,
}

impl<'a> Parser<'a, '_> {
    /// Steps up to the end of the text, or up to the brace that closes the block begun at `opened`.
    fn steps(&mut self, opened: Option<&Range<usize>>) -> Result<(), Fault> {
        loop {
            match (self.next(), opened) {
                (Some((Token::End, _)), _) => {}
                (Some((Token::Word(word), at)), _) => self.step(word, &at)?,
                (Some((Token::Close, _)), Some(_)) | (None, None) => return Ok(()),
                (Some((Token::Close, at)), None) => return Err(Fault::new(at, "} without a {")),
                (Some((Token::Open, at)), _) => {
                    return Err(Fault::new(at, "{ has nothing before it; expected loop, forever or request"));
                }
                (None, Some(at)) => {
                    return Err(Fault::new(at.clone(), "this block is not closed; expected }"));
                }
            }
        }
    }

    fn next(&mut self) -> Option<(Token<'a>, Range<usize>)> {
        let token = self.tokens.get(self.place)?.clone();
        self.place += 1;
        Some(token)
    }

    fn step(&mut self, word: &str, at: &Range<usize>) -> Result<(), Fault> {
        let names = self.names;
        let op = match word {
            "compute" => match self.times(at)? {
                (work_ns, None) => Op::Compute { work_ns },
                (low_ns, Some(high_ns)) => Op::ComputeBetween { low_ns, high_ns },
            },
            "sleep" => match self.times(at)? {
                (ns, None) => Op::Sleep { ns },
                (low_ns, Some(high_ns)) => Op::SleepBetween { low_ns, high_ns },
            },
            "period" => Op::SleepUntilPeriod { ns: self.time_above_0(at, word)? },
            "every" => Op::SleepUntilNextPeriod { ns: self.time_above_0(at, word)? },
            "send" => Op::Send { pipe: self.name(at, "pipe", &names.pipes)?, bytes: self.bytes(at)? },
            "receive" => Op::Receive { pipe: self.name(at, "pipe", &names.pipes)?, bytes: self.bytes(at)? },
            "lock" => Op::Lock { lock: self.name(at, "lock", &names.locks)? },
            "unlock" => Op::Unlock { lock: self.name(at, "lock", &names.locks)? },
            "wait" => Op::Wait {
                condition: self.name(at, "condition", &names.conditions)?,
                lock: self.name(at, "lock", &names.locks)?,
            },
            "signal" => Op::Signal { condition: self.name(at, "condition", &names.conditions)? },
            "broadcast" => Op::Broadcast { condition: self.name(at, "condition", &names.conditions)? },
            "barrier" => Op::Barrier { barrier: self.name(at, "barrier", &names.barriers)? },
            "open" => {
                Op::Open { team: self.name(at, "team", &names.teams)?, pieces: self.count(at, "pieces")? }
            }
            "share" => {
                let team = self.name(at, "team", &names.teams)?;
                Op::Share { team, piece_ns: self.time_above_0(at, "share, a team")? }
            }
            "join" => Op::Join { team: self.name(at, "team", &names.teams)? },
            "attend" => Op::Attend { team: self.name(at, "team", &names.teams)? },
            "post" => Op::Post { semaphore: self.name(at, "semaphore", &names.semaphores)? },
            "ask" => Op::Ask {
                semaphore: self.name(at, "semaphore", &names.semaphores)?,
                answer: self.name(at, "semaphore", &names.semaphores)?,
            },
            "answer" => Op::Answer { semaphore: self.name(at, "semaphore", &names.semaphores)? },
            "acquire" => Op::Acquire { semaphore: self.name(at, "semaphore", &names.semaphores)? },
            "fork" => Op::Fork { template: self.name(at, "task", &names.templates)? },
            "become" => Op::Become { application: self.name(at, "application", &names.applications)? },
            "kill" => Op::Kill { template: self.name(at, "task", &names.templates)? },
            "wait-children" => Op::WaitChildren,
            "wait-for" => Op::WaitFor { template: self.name(at, "task", &names.templates)? },
            "new-session" => Op::NewSession,
            "yield" => Op::Yield,
            "exit" => Op::Exit,
            "loop" | "forever" | "request" => return self.block(word, at),
            _ => {
                let problem = format!(
                    "there is no step \"{word}\"; expected compute, sleep, period, every, send, receive, lock, unlock, wait, signal, broadcast, \
                     barrier, open, share, join, attend, post, ask, answer, acquire, fork, kill, wait-children, wait-for, new-session, become, yield, exit, loop, forever or \
                     request"
                );
                return Err(Fault::new(at.clone(), problem));
            }
        };
        self.ops.push(op);
        self.ends(word)
    }

    /// A step with steps of its own.
    fn block(&mut self, word: &str, at: &Range<usize>) -> Result<(), Fault> {
        let times = match word {
            "loop" => {
                let (text, at) = self.word(at, "how often")?;
                let Ok(times @ 1..) = text.parse::<u32>() else {
                    let problem = format!(
                        "\"{text}\" is not a number of repetitions; expected 1 to 4294967295, or forever"
                    );
                    return Err(Fault::new(at, problem));
                };
                times
            }
            _ => 0,
        };
        match self.next() {
            Some((Token::Open, _)) => {}
            _ => return Err(Fault::new(at.clone(), format!("expected {{ after {word}"))),
        }
        let to = self.ops.len();
        if word == "request" {
            self.ops.push(Op::RequestBegins);
            self.steps(Some(at))?;
            self.ops.push(Op::RequestEnds);
            return Ok(());
        }
        if self.depth == DEEPEST {
            return Err(Fault::new(at.clone(), format!("loops are nested more than {DEEPEST} deep")));
        }
        let counter = self.depth;
        self.depth += 1;
        self.steps(Some(at))?;
        self.depth -= 1;
        if self.ops.len() == to {
            return Err(Fault::new(at.clone(), "there is nothing in this loop"));
        }
        self.ops.push(Op::Loop { to: to as u32, times, counter });
        Ok(())
    }

    fn word(&mut self, step: &Range<usize>, what: &str) -> Result<(&'a str, Range<usize>), Fault> {
        match self.next() {
            Some((Token::Word(word), at)) => Ok((word, at)),
            _ => Err(Fault::new(step.clone(), format!("expected {what} after it"))),
        }
    }

    /// Nothing but the end may follow.
    fn ends(&mut self, step: &str) -> Result<(), Fault> {
        match self.tokens.get(self.place) {
            Some((Token::Word(word), at)) => {
                let problem = format!(
                    "\"{word}\" is more than {step} takes; expected ; or a new line before the next step"
                );
                Err(Fault::new(at.clone(), problem))
            }
            _ => Ok(()),
        }
    }

    fn times(&mut self, step: &Range<usize>) -> Result<(u64, Option<u64>), Fault> {
        let (text, at) = self.word(step, "a time such as 2ms or 1ms..2ms")?;
        let read = |text: &str| time_ns(text).map_err(|problem| Fault::new(at.clone(), problem));
        let Some((low, high)) = text.split_once("..") else {
            return Ok((read(text)?, None));
        };
        let (low_ns, high_ns) = (read(low)?, read(high)?);
        if low_ns > high_ns {
            return Err(Fault::new(
                at,
                format!("{low} is more than {high}; expected the shorter time first"),
            ));
        }
        Ok((low_ns, Some(high_ns)))
    }

    /// One time; `before` is what stands before it.
    fn time_above_0(&mut self, step: &Range<usize>, before: &str) -> Result<u64, Fault> {
        match self.times(step)? {
            (ns @ 1.., None) => Ok(ns),
            _ => Err(Fault::new(step.clone(), format!("expected {before} and one time above 0"))),
        }
    }

    fn count(&mut self, step: &Range<usize>, what: &str) -> Result<u32, Fault> {
        let (text, at) = self.word(step, &format!("a number of {what}"))?;
        match text.parse::<u32>() {
            Ok(count @ 1..) => Ok(count),
            _ => {
                Err(Fault::new(at, format!("\"{text}\" is not a number of {what}; expected 1 to 4294967295")))
            }
        }
    }

    fn bytes(&mut self, step: &Range<usize>) -> Result<u32, Fault> {
        let (text, at) = self.word(step, "the length of the message, bytes")?;
        let bytes = size_bytes(text).map_err(|problem| Fault::new(at.clone(), problem))?;
        match u32::try_from(bytes) {
            Ok(bytes @ 1..) => Ok(bytes),
            _ => Err(Fault::new(at, format!("a message of {bytes} bytes; expected 1 to 4294967295"))),
        }
    }

    fn name(&mut self, step: &Range<usize>, kind: &str, known: &BTreeMap<&str, u32>) -> Result<u32, Fault> {
        let (name, at) = self.word(step, &format!("the name of a {kind}"))?;
        known.get(name).copied().ok_or_else(|| {
            let names: Vec<_> = known.keys().copied().collect();
            let there = if names.is_empty() { "there is none".to_owned() } else { names.join(", ") };
            Fault::new(at, format!("there is no {kind} \"{name}\"; declared: {there}"))
        })
    }
}
