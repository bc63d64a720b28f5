"""What the jobs of the shop do, and what their exceptions mean."""

import os
import smtplib
from email.message import EmailMessage

from models import Order, Sales, Session
from sqlalchemy import func, select
from turnstile_client import Discard, Retry

MAIL_HOST, OWNER = os.environ.get("MAIL_HOST", "localhost:25"), "owner@shop.example"

# An address that is refused will be refused again. Where the mail server is away it comes back; other errors wait as their queue says.
RETRY = {smtplib.SMTPRecipientsRefused: Discard, OSError: Retry(in_=60)}


def receipt(run):
    with Session() as session:
        order = session.get_one(Order, run.payload["order"])
        send(order.email, f"Your order {order.id}", f"You have bought: {order.item}.")


def survey(run):
    with Session() as session:
        order = session.get_one(Order, run.payload["order"])
        send(order.email, f"How do you like your {order.item}?", "Tell us.")


def summary(run):
    with Session() as session:
        sold = session.execute(select(Sales).order_by(Sales.sold.desc())).scalars().all()
        send(OWNER, "Sales", "\n".join(f"{each.item}: {each.sold}" for each in sold))


def count_sales(run):
    item = run.payload["item"]
    with Session.begin() as session:
        sold = session.scalar(select(func.count()).where(Order.item == item))
        session.merge(Sales(item=item, sold=sold))
    return sold


HANDLERS = {"receipt": receipt, "survey": survey, "summary": summary, "count sales": count_sales}


def send(to, subject, body):
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = OWNER, to, subject
    message.set_content(body)
    with smtplib.SMTP(MAIL_HOST) as server:
        server.send_message(message)
