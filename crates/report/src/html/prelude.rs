//! What every section needs: the subjects, the pieces of a page, the charts, and figures in words.

pub(super) use super::ReportError;
pub(super) use super::charts::*;
pub(super) use super::page::{Block, Cell, Definition, Figure, Notice, Section, Table, TableRow};
pub(super) use super::scale::extent;
pub(super) use super::subjects::{KeyFigure, Known, Named, One, Subject, Subjects, known, reasons};
pub(super) use super::values::{distinct, gathered, largest, median, once};
pub(super) use crate::wording::{naming, text};
