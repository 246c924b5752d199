"""Chat with OpenAI, or any compatible server, and remember across conversations."""

import openai

from mnemic import Mnemic

client = openai.OpenAI()  # reads OPENAI_API_KEY and OPENAI_BASE_URL


def reply(memory: Mnemic, session: str, message: str) -> str:
    """Answer with what is known about Ana, then store both sides."""
    ana = memory.for_user("ana", session=session)
    context = ana.context(message, system="You are a helpful assistant.")
    completion = client.chat.completions.create(model="gpt-5-mini", messages=context.to_openai())
    answer = completion.choices[0].message.content or ""
    ana.capture(user=message, assistant=answer)
    return answer


with Mnemic("memory.db") as mnemic:
    reply(mnemic, "monday", "My sailing boat is called Heron.")
    print(reply(mnemic, "tuesday", "What is my boat called?"))
